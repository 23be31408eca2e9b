// Segment: the sparse memory that all ranks of one host map, behind one descriptor and without a name, so
// that a crash leaves nothing behind. Pages are taken only as they come into use. Owner: the Mesh; a Window
// keeps the mapping alone, so that no descriptor outlives the communicator. Thread-safe: nothing changes
// after it is made.
#pragma once

#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr
#include <string>   // for string

#include "ring/base/status.h"
#include "ring/base/unique_fd.h"
#include "ring/shm/layout.h"

namespace ring::shm {

struct SegmentOptions {
  int local_size = 1;                                            // ranks of this host
  std::uint64_t address_space_bytes = std::uint64_t{256} << 30;  // halved until the kernel agrees
  std::size_t slot_bytes = std::size_t{256} << 10;               // at least 64 KB, whole pages
  int num_slots = 4;                                             // a rank; 3 to 64
  std::string folder;  // where a file without a name is made when there is no memfd; empty: nowhere
};

class Segment {
 public:
  // kSystem when no memory can be had, kInvalidArgument for impossible options.
  [[nodiscard]] static Result<std::shared_ptr<Segment>> create(const SegmentOptions& options);
  // What the host's first rank created: kMismatch when it is anything else, or could shrink.
  [[nodiscard]] static Result<std::shared_ptr<Segment>> map(UniqueFd fd);
  // For ranks that are threads of one process; null when no memory can be had.
  [[nodiscard]] static std::shared_ptr<Segment> in_process(const SegmentOptions& options);

  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] int fd() const noexcept { return fd_.get(); }
  [[nodiscard]] std::byte* base() const noexcept { return base_; }
  // Keeps the memory mapped.
  [[nodiscard]] std::shared_ptr<const void> mapping() const noexcept { return mapping_; }
  [[nodiscard]] const Layout& layout() const noexcept { return layout_; }
  [[nodiscard]] SegmentHeader& header() const noexcept { return *reinterpret_cast<SegmentHeader*>(base_); }

  // Takes pages, so that a lack of memory shows here and not as a bus error later.
  [[nodiscard]] Status reserve(std::uint64_t offset, std::uint64_t bytes) const;
  void discard(std::uint64_t offset, std::uint64_t bytes) const noexcept;

 private:
  Segment(UniqueFd fd, std::byte* base, Layout layout);

  UniqueFd fd_;
  std::byte* base_;
  std::shared_ptr<const void> mapping_;
  Layout layout_;
  bool huge_;
};

}  // namespace ring::shm
