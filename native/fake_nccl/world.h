// World: what the ranks of one fake communicator share: a file that they map, found by the unique id, and
// gone from the folder once all have come. Pairs of ranks give each other bytes through mailboxes.
#pragma once

#include <atomic>   // for atomic
#include <cstddef>  // for byte, size_t
#include <cstdint>  // for uint64_t
#include <memory>   // for shared_ptr
#include <string>   // for string
#include <vector>   // for vector

namespace fake {

inline constexpr int kMostRanks = 16;
inline constexpr std::size_t kMailBytes = 64 * 1024;
inline constexpr int kSplits = 64;

struct Seat {
  std::atomic<std::uint32_t> taken;
  char pci[32];
  std::atomic<std::uint64_t> splits;  // how many this rank has asked for
  int color[kSplits];
  int key[kSplits];
};

struct Mailbox {
  alignas(64) std::atomic<std::uint64_t> written;
  alignas(64) std::atomic<std::uint64_t> read;
  std::byte data[kMailBytes];
};

// One message: `data` is read by a sender and written by a receiver.
struct Span {
  int peer;
  std::byte* data;
  std::size_t bytes;
};

class World {
 public:
  // Null when the file cannot be made.
  static std::shared_ptr<World> join(const std::string& name, int size, int rank, const std::string& pci);
  World(const World&) = delete;
  World& operator=(const World&) = delete;
  ~World();

  [[nodiscard]] int size() const { return size_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] Seat& seat(int rank) const { return seats_[rank]; }
  // All have come; whoever sees it removes the name.
  [[nodiscard]] bool complete();
  // Nobody else is to come.
  void unlink();

  // Moves everything, in order for each pair; false when `stop` was set before the end.
  bool exchange(int rank, std::vector<Span> sends, std::vector<Span> receives, const std::atomic<bool>& stop);

 private:
  World(std::string name, int size, void* memory, std::size_t bytes);
  [[nodiscard]] Mailbox& mailbox(int from, int to) const { return mailboxes_[from * size_ + to]; }

  std::string name_;
  int size_;
  void* memory_;
  std::size_t bytes_;
  Seat* seats_;
  Mailbox* mailboxes_;
};

}  // namespace fake
