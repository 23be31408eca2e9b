// One direction of shared bytes: wrapping, sleeping flags, and a peer that writes nonsense.
#include <doctest/doctest.h>

#include <array>   // for array
#include <memory>  // for unique_ptr
#include <random>  // for mt19937
#include <vector>  // for vector

#include "ring/transport/byte_ring.h"

namespace {

using namespace ring::transport;
using ring::Bytes;
using ring::MutableBytes;

constexpr std::size_t kCapacity = 64;

struct Fixture {
  RingIndices indices;
  std::array<std::byte, kCapacity> data{};
  RingMemory memory{&indices, data.data(), kCapacity};
  RingProducer producer{memory};
  RingConsumer consumer{memory};
  std::array<std::byte, 2 * kCapacity> scratch{};

  std::size_t put(std::size_t count) { return producer.put(Bytes(scratch.data(), count)).value().bytes; }
  std::size_t take(std::size_t count) {
    return consumer.take(MutableBytes(scratch.data(), count)).value().bytes;
  }
};

}  // namespace

TEST_CASE("a byte ring moves what fits and keeps the order over its end") {
  Fixture ring;
  std::mt19937 random(3);
  unsigned next_in = 0;
  unsigned next_out = 0;
  for (int round = 0; round < 5000; ++round) {
    std::vector<std::byte> in(random() % (2 * kCapacity));
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = static_cast<std::byte>(next_in + i);
    next_in += static_cast<unsigned>(ring.producer.put(Bytes(in.data(), in.size())).value().bytes);
    std::vector<std::byte> out(random() % (2 * kCapacity));
    const auto moved = ring.consumer.take(MutableBytes(out.data(), out.size())).value().bytes;
    for (std::size_t i = 0; i < moved; ++i) REQUIRE(out[i] == static_cast<std::byte>(next_out + i));
    next_out += static_cast<unsigned>(moved);
  }
}

TEST_CASE("one sleep gets one bell, and none when there is no need to sleep") {
  Fixture ring;
  CHECK_FALSE(ring.consumer.arm());
  CHECK(ring.producer.put(Bytes(ring.scratch.data(), 1)).value().wake_peer);
  CHECK_FALSE(ring.producer.put(Bytes(ring.scratch.data(), 1)).value().wake_peer);
  CHECK(ring.consumer.arm());
  CHECK_FALSE(ring.producer.put(Bytes(ring.scratch.data(), 1)).value().wake_peer);
  CHECK(ring.producer.arm());
  CHECK(ring.put(kCapacity) == kCapacity - 3);
  CHECK_FALSE(ring.producer.arm());
  CHECK(ring.consumer.take(MutableBytes(ring.scratch.data(), 1)).value().wake_peer);
}

TEST_CASE("positions that cannot be are refused, not followed") {
  Fixture ring;
  ring.indices.written.store(kCapacity + 1);
  CHECK_FALSE(ring.consumer.take(MutableBytes(ring.scratch.data(), 8)).has_value());
  CHECK(ring.consumer.arm());  // who sleeps on nonsense would never hear of it
  ring.indices.read.store(1);  // more than was ever written
  CHECK_FALSE(ring.producer.put(Bytes(ring.scratch.data(), 8)).has_value());
  CHECK(ring.producer.arm());
}

TEST_CASE("a pair of rings shares its memory without overlap") {
  const std::size_t bytes = pair_bytes(4096);
  const std::align_val_t alignment{kCacheLine};
  auto* base = static_cast<std::byte*>(::operator new(bytes, alignment));
  const RingPair pair = build_pair(base, 4096);
  CHECK(pair.upper.data + 4096 == pair.lower.data);
  CHECK(pair.lower.data + 4096 == base + bytes);
  CHECK(reinterpret_cast<std::byte*>(pair.lower.indices + 1) == pair.upper.data);
  ::operator delete(base, alignment);
}
