#include "ring/comm/fingerprint.h"

#include <algorithm>  // for min
#include <cstddef>    // for offsetof
#include <cstring>    // for memcmp, memcpy

namespace ring::comm {
namespace {

constexpr std::uint32_t kMagic = 0x676e6972;  // "ring"

// FNV-1a by words, mixed: only tells apart what honest ranks disagree on.
std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15U;
  return hash ^ (hash >> 32);
}

std::uint64_t hash_bytes(const void* data, std::size_t size) {
  std::uint64_t hash = mix(0xcbf29ce484222325U, size);
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; i += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes + i, std::min(sizeof word, size - i));
    hash = mix(hash, word);
  }
  return hash;
}

std::uint64_t hash_counts(const Operation& operation) {
  if (operation.kind == Kind::kAlltoall) return 0;  // every rank has its own
  std::uint64_t hash = hash_bytes(operation.counts.data(), operation.counts.size() * sizeof(std::uint64_t));
  for (const auto& member : operation.members) {
    hash = mix(mix(hash, member.count), static_cast<std::uint64_t>(member.dtype));
  }
  return hash;
}

std::string label_of(const Header& header) {
  const std::size_t size = std::min<std::size_t>(header.label_size, kLabelBytes);
  return std::string(header.label.data(), size) + (header.label_size > kLabelBytes ? "..." : "");
}

std::string change_of(const Header& header) {
  std::string text;
  if (header.prescale != 1) text += ", prescale " + std::to_string(header.prescale);
  if (header.postscale != 1) text += ", postscale " + std::to_string(header.postscale);
  const bool is_mixed = header.kind == Kind::kGroupedAllreduce;
  if (!is_mixed && header.wire != header.dtype) text += std::string(", sent as ") + name_of(header.wire);
  return text;
}

struct Side {
  const Header& header;
  int rank;
  std::string host;
};

std::string name_of_side(const Side& side) {
  return "rank " + std::to_string(side.rank) + (side.host.empty() ? "" : " on " + side.host) + " calls " +
         describe(side.header);
}

// What the two descriptions do not show.
std::string hint(const Header& mine, const Header& theirs) {
  if (mine.count == theirs.count && mine.counts_hash != theirs.counts_hash) {
    return " (same total, but other counts by rank)";
  }
  if (mine.group != theirs.group) return " (in different groups of ranks)";
  if (mine.label_hash != theirs.label_hash && label_of(mine) == label_of(theirs)) {
    return " (the labels differ further on)";
  }
  return {};
}

Status no_header(const Side& side) {
  return {Code::kInternal, "rank " + std::to_string(side.rank) + " sent bytes that are no header", side.rank,
          side.host};
}

// The lower rank comes first, so that both sides write one text.
Status mismatch(const Side& one, const Side& other, const Side& blamed) {
  const Side& first = one.rank < other.rank ? one : other;
  const Side& second = one.rank < other.rank ? other : one;
  return {Code::kMismatch,
          "ranks disagree: " + name_of_side(first) + ", but " + name_of_side(second) +
              hint(first.header, second.header),
          blamed.rank, blamed.host};
}

}  // namespace

Header header_of(const Operation& operation) {
  Header header;
  header.magic = kMagic;
  header.kind = operation.kind;
  header.dtype = operation.dtype;
  header.op = reduces(operation.kind) ? operation.op : ReduceOp::kSum;
  header.root = operation.kind == Kind::kBroadcast ? operation.root : kNoRoot;
  header.sequence = operation.sequence;
  header.count = total_count(operation);
  header.counts_hash = hash_counts(operation);
  header.group = operation.group;
  if (reduces(operation.kind)) {
    header.prescale = operation.prescale;
    header.postscale = operation.postscale;
    header.wire = wire_of(operation);
  }
  header.label_hash = hash_bytes(operation.label.data(), operation.label.size());
  header.label_size = static_cast<std::uint32_t>(std::min<std::size_t>(operation.label.size(), UINT32_MAX));
  operation.label.copy(header.label.data(), kLabelBytes);
  return header;
}

std::string describe(const Header& header) {
  std::string text = std::string(name_of(header.kind)) + " #" + std::to_string(header.sequence);
  if (header.label_size > 0) text += " '" + label_of(header) + "'";
  if (header.kind == Kind::kBarrier) return text;
  const bool is_mixed = header.kind == Kind::kGroupedAllreduce;
  const bool is_ranks = header.kind == Kind::kNewGroup;
  text += std::string(" (") + (is_ranks ? "ranks" : is_mixed ? "elements" : name_of(header.dtype));
  if (header.kind != Kind::kAlltoall) text += " x " + std::to_string(header.count);
  if (reduces(header.kind)) text += std::string(", ") + name_of(header.op) + change_of(header);
  if (header.kind == Kind::kBroadcast) text += ", root " + std::to_string(header.root);
  return text + ")";
}

Status failed(const Operation& operation, const char* how, const Status& cause) {
  return Status(cause.code(), describe(header_of(operation)) + how, cause.rank(), cause.host())
      .because(cause);
}

Fingerprint::Fingerprint(const Operation& operation, const backend::Backend& backend)
    : backend_(backend), header_(header_of(operation)) {
  // The label is in it by its own hash.
  hash_ = hash_bytes(&header_, offsetof(Header, label));
}

Status Fingerprint::compare(int world_rank, Bytes theirs) const {
  if (theirs.size == sizeof header_ && std::memcmp(&header_, theirs.data, sizeof header_) == 0) return {};
  Header other;
  std::memcpy(&other, theirs.data, std::min(theirs.size, sizeof other));
  const Side them{other, world_rank, backend_.host_of(world_rank)};
  if (other.magic != kMagic) return no_header(them);
  const int mine = backend_.world_rank(backend_.rank());
  const Side us{header_, mine, backend_.host_of(mine)};
  // Of two, nobody can tell who deviates: both blame the higher number.
  return mismatch(us, them, backend_.size() == 2 && us.rank > them.rank ? us : them);
}

}  // namespace ring::comm
