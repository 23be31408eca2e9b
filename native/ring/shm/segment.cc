#include "ring/shm/segment.h"

#include <sys/mman.h>  // for munmap

#include <utility>  // for move

#include "ring/shm/memory.h"

namespace ring::shm {
namespace {

Layout layout_of(const SegmentOptions& options, std::uint64_t bytes) {
  return {bytes, options.local_size, options.slot_bytes, options.num_slots};
}

Status invalid(const SegmentOptions& options) {
  return {Code::kInvalidArgument,
          "shared memory for " + std::to_string(options.local_size) + " ranks with " +
              std::to_string(options.num_slots) + " slots of " + std::to_string(options.slot_bytes) +
              " bytes: give 1 to 1024 ranks, 3 to 64 slots of 64 KB to 64 MB in whole pages, and an address "
              "space that holds them"};
}

bool is_segment(const SegmentHeader& header, std::uint64_t bytes) {
  return header.magic == kMagic && header.version == kVersion && header.bytes == bytes;
}

}  // namespace

Segment::Segment(UniqueFd fd, std::byte* base, Layout layout)
    : fd_(std::move(fd)),
      base_(base),
      mapping_(base, [bytes = layout.bytes](void* mapped) { ::munmap(mapped, bytes); }),
      layout_(layout),
      huge_(huge_pages_allowed()) {}

Result<std::shared_ptr<Segment>> Segment::create(const SegmentOptions& options) {
  Status reason = invalid(options);
  const std::uint64_t most = round_up(options.address_space_bytes, kHugePage);
  for (std::uint64_t bytes = most; layout_of(options, bytes).valid();
       bytes = round_up(bytes / 2, kHugePage)) {
    auto fd = create_memory(bytes, options.folder);
    if (!fd) {
      reason = fd.status();
      continue;
    }
    auto base = map_memory(fd.value().get(), bytes);
    if (!base) {
      reason = base.status();
      continue;
    }
    std::shared_ptr<Segment> segment(
        new Segment(std::move(fd).value(), base.value(), layout_of(options, bytes)));
    RING_TRY(segment->reserve(0, kPage));
    auto& header = segment->header();
    header.version = kVersion;
    header.local_size = static_cast<std::uint32_t>(options.local_size);
    header.bytes = bytes;
    header.slot_bytes = options.slot_bytes;
    header.num_slots = static_cast<std::uint32_t>(options.num_slots);
    const auto& layout = segment->layout();
    header.next_area = layout.groups_begin() + layout.group_bytes(layout.local_size);
    header.magic = kMagic;
    return segment;
  }
  return reason;
}

Result<std::shared_ptr<Segment>> Segment::map(UniqueFd fd) {
  const auto bytes = check_memory(fd.get());
  if (!bytes) return bytes.status();
  if (bytes.value() < kHugePage) return Status(Code::kMismatch, "a shared memory segment that is too small");
  auto base = map_memory(fd.get(), bytes.value());
  if (!base) return base.status();
  const auto& header = *reinterpret_cast<const SegmentHeader*>(base.value());
  Layout layout{bytes.value(), 0, 0, 0};
  if (is_segment(header, bytes.value())) {
    layout = {bytes.value(), static_cast<int>(header.local_size), header.slot_bytes,
              static_cast<int>(header.num_slots)};
  }
  std::shared_ptr<Segment> segment(new Segment(std::move(fd), base.value(), layout));
  if (!layout.valid()) return Status(Code::kMismatch, "shared memory that is no segment of this version");
  return segment;
}

std::shared_ptr<Segment> Segment::in_process(const SegmentOptions& options) {
  auto segment = create(options);
  return segment ? std::move(segment).value() : nullptr;
}

Status Segment::reserve(std::uint64_t offset, std::uint64_t bytes) const {
  return shm::reserve(fd_.get(), base_, offset, bytes, huge_);
}

void Segment::discard(std::uint64_t offset, std::uint64_t bytes) const noexcept {
  shm::discard(fd_.get(), offset, bytes);
}

}  // namespace ring::shm
