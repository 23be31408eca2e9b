// Segments: made, mapped, refused, reserved and given back; the books kept of them.
#include <doctest/doctest.h>
#include <fcntl.h>         // for fcntl
#include <sys/mman.h>      // for memfd_create
#include <sys/resource.h>  // for setrlimit
#include <sys/stat.h>      // for fstat

#include <csignal>  // for signal

#include "ring/shm/group.h"
#include "ring/shm/memory.h"
#include "ring/shm/seat.h"
#include "ring/shm/segment.h"
#include "ring/shm/space.h"
#include "ring/shm/spin_budget.h"

namespace {

using namespace ring;
using namespace ring::shm;

SegmentOptions options_for(int size) {
  SegmentOptions options;
  options.local_size = size;
  options.address_space_bytes = std::uint64_t{1} << 30;
  return options;
}

UniqueFd copy_of(int fd) {
  return UniqueFd(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
}

std::uint64_t pages_of(int fd) {
  struct stat info{};
  REQUIRE(::fstat(fd, &info) == 0);
  return static_cast<std::uint64_t>(info.st_blocks) * 512;
}

// Files, and so memfds, may not grow beyond `bytes` while this lives.
class SmallFiles {
 public:
  explicit SmallFiles(rlim_t bytes) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit small{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
  }
  ~SmallFiles() { ::setrlimit(RLIMIT_FSIZE, &before_); }
  SmallFiles(const SmallFiles&) = delete;
  SmallFiles& operator=(const SmallFiles&) = delete;

 private:
  rlimit before_{};
};

TEST_CASE("two mappings of a segment show the same memory; pages come as they are used") {
  auto made = Segment::create(options_for(2));
  REQUIRE(made);
  const auto& segment = *made.value();
  CHECK(segment.layout().bytes == std::uint64_t{1} << 30);
  CHECK(pages_of(segment.fd()) <= kPage);
  auto mapped = Segment::map(copy_of(segment.fd()));
  REQUIRE(mapped);
  CHECK(mapped.value()->layout().slot_bytes == segment.layout().slot_bytes);
  const std::uint64_t offset = segment.layout().range_begin(1);
  CHECK(segment.reserve(offset, 100'000));
  CHECK(pages_of(segment.fd()) >= 100'000);
  segment.base()[offset + 99'999] = std::byte{7};
  CHECK(mapped.value()->base()[offset + 99'999] == std::byte{7});
  segment.discard(offset, 102'400);
  CHECK(pages_of(segment.fd()) <= kPage);
  CHECK(mapped.value()->base()[offset + 99'999] == std::byte{0});
}

TEST_CASE("a segment is mapped only when it is what it should be") {
  auto made = Segment::create(options_for(2));
  REQUIRE(made);
  CHECK(::ftruncate(made.value()->fd(), 0) != 0);  // sealed
  UniqueFd loose(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::ftruncate(loose.get(), std::int64_t{1} << 30) == 0);
  CHECK(Segment::map(copy_of(loose.get())).status().code() == Code::kMismatch);  // could shrink
  REQUIRE(::fcntl(loose.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK(Segment::map(copy_of(loose.get())).status().code() == Code::kMismatch);  // is empty
  UniqueFd small(::memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  REQUIRE(::fcntl(small.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW) == 0);
  CHECK(Segment::map(std::move(small)).status().code() == Code::kMismatch);
  made.value()->header().num_slots = 1;
  CHECK(Segment::map(copy_of(made.value()->fd())).status().code() == Code::kMismatch);
  made.value()->header().num_slots = 4;
  made.value()->header().version = 99;
  CHECK(Segment::map(copy_of(made.value()->fd())).status().code() == Code::kMismatch);
  CHECK(Segment::map(UniqueFd()).status().code() == Code::kSystem);
}

TEST_CASE("impossible options are refused, and what the kernel refuses is halved") {
  auto options = options_for(2);
  options.num_slots = 2;
  CHECK(Segment::create(options).status().code() == Code::kInvalidArgument);
  options = options_for(2);
  options.slot_bytes = 70'000;
  CHECK(Segment::create(options).status().code() == Code::kInvalidArgument);
  options = options_for(2);
  options.address_space_bytes = std::uint64_t{1} << 52;  // more than any processor maps
  const auto made = Segment::create(options);
  REQUIRE(made);
  CHECK(made.value()->layout().bytes < options.address_space_bytes);
  CHECK(static_cast<bool>(Segment::in_process(options_for(1))));
}

TEST_CASE("no memory is an error with the size; a folder may help") {
  const SmallFiles limit(64 << 10);
  const auto none = Segment::create(options_for(2));
  CHECK(none.status().code() == Code::kSystem);
  CHECK(none.status().message().find("RLIMIT_FSIZE") != std::string::npos);
  auto options = options_for(2);
  options.folder = "/nowhere";
  CHECK(Segment::create(options).status().report().find("/nowhere") != std::string::npos);
}

TEST_CASE("a file without a name serves where there is no memfd") {
  const auto file = create_memory(std::uint64_t{1} << 30, "/tmp");
  REQUIRE(file);
  UniqueFd named(::open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  REQUIRE(named.valid());
  REQUIRE(::ftruncate(named.get(), 1 << 20) == 0);
  const auto size = check_memory(named.get());
  REQUIRE(size);
  CHECK(size.value() == 1 << 20);
}

TEST_CASE("a space gives the same places for the same calls and joins what comes back") {
  Space space(0, 100);
  CHECK(space.take(10, 1) == 0);
  CHECK(space.take(10, 16) == 16);
  CHECK(space.take(6, 1) == 10);
  CHECK_FALSE(space.take(90, 1));
  space.give(0, 10);
  CHECK(space.take(10, 1) == 0);
  space.give(10, 6);
  space.give(0, 10);
  space.give(16, 10);
  CHECK(space.free_bytes() == 100);
  CHECK(space.take(100, 1) == 0);
}

TEST_CASE("areas of groups lie side by side, are taken once, and serve again when all have left") {
  auto made = Segment::create(options_for(3));
  REQUIRE(made);
  const Segment& segment = *made.value();
  const auto host = area_of_host(segment);
  const auto pair = take_area(segment, 2);
  const auto other = take_area(segment, 3);
  REQUIRE(pair);
  REQUIRE(other);
  CHECK(host.size == 3);
  CHECK(pair.value().offset == host.offset + segment.layout().group_bytes(3));
  CHECK(other.value().offset == pair.value().offset + segment.layout().group_bytes(2));
  give_area(segment, pair.value());
  CHECK(take_area(segment, 3).value().offset > other.value().offset);  // of another size
  CHECK(take_area(segment, 2).value().offset == pair.value().offset);
  CHECK(take_area(segment, 4).status().code() == Code::kInvalidArgument);
  CHECK(take_area(segment, 0).status().code() == Code::kInvalidArgument);
  for (const std::uint64_t offset : {std::uint64_t{0}, host.offset + 8, segment.layout().groups_end()}) {
    CHECK(!is_area(segment, {offset, 2}));
  }
}

TEST_CASE("what is written into the books of areas is checked") {
  auto made = Segment::create(options_for(2));
  REQUIRE(made);
  auto& header = made.value()->header();
  header.free_areas[0] = made.value()->layout().bytes / kHugePage * kHugePage + 2;
  CHECK(take_area(*made.value(), 2).value().offset < made.value()->layout().groups_end());
  header.next_area = ~std::uint64_t{0} / kHugePage * kHugePage;
  CHECK(take_area(*made.value(), 2).status().code() == Code::kSystem);
}

TEST_CASE("seats keep windows apart") {
  auto made = Segment::create(options_for(2));
  REQUIRE(made);
  Seat one(made.value(), 0);
  Seat two(made.value(), 1);
  const auto window = one.take(5000);
  REQUIRE(window);
  CHECK(one.window(0, window.value(), 5000) == made.value()->base() + window.value());
  CHECK(two.window(1, window.value(), 5000) == nullptr);  // the range of another
  CHECK(one.window(0, window.value(), std::uint64_t{1} << 60) == nullptr);
  CHECK(one.window(7, window.value(), 1) == nullptr);
  CHECK(one.take(std::uint64_t{1} << 40).status().code() == Code::kSystem);
  one.give(window.value(), 5000);
  CHECK(one.take(5000).value() == window.value());
}

TEST_CASE("groups come and go without taking more memory") {
  auto made = Segment::create(options_for(2));
  REQUIRE(made);
  auto one = std::make_shared<Seat>(made.value(), 0);
  auto two = std::make_shared<Seat>(made.value(), 1);
  for (int round = 0; round < 10; ++round) {
    const auto area = take_area(*made.value(), 2);
    REQUIRE(area);
    auto first = LocalGroup::join(one, area.value(), 0, {0, 1});
    auto second = LocalGroup::join(two, area.value(), 1, {0, 1});
    REQUIRE(first);
    REQUIRE(second);
    CHECK(first.value().reserve_slots());
    CHECK(&first.value().line(1, 1) == &second.value().line(1, 3));
  }
  CHECK(pages_of(made.value()->fd()) <= kPage);
  CHECK(LocalGroup::join(one, {0, 2}, 2, {0, 1}).status().code() == Code::kInvalidArgument);
}

TEST_CASE("addresses for groups end with an error") {
  auto options = options_for(1);
  options.address_space_bytes = 32 << 20;
  auto made = Segment::create(options);
  REQUIRE(made);
  Status last;
  for (int i = 0; i < 100 && last; ++i) last = take_area(*made.value(), 1).status();
  CHECK(last.code() == Code::kSystem);
}

TEST_CASE("spinning is stopped by misses, tried again, and rewarded") {
  SpinBudget budget;
  CHECK(budget.next() == 30'000);
  budget.missed();
  CHECK(budget.next() == 30'000);
  budget.missed();  // two in a row
  for (int i = 0; i < 32; ++i) CHECK(budget.next() == 0);
  CHECK(budget.next() > 0);  // a probe
  budget.missed();
  for (int i = 0; i < 64; ++i) CHECK(budget.next() == 0);
  CHECK(budget.next() > 0);
  for (int i = 0; i < 100; ++i) budget.rewarded(100'000);
  CHECK(budget.next() > 300'000);
  for (int i = 0; i < 200; ++i) budget.rewarded(900'000);
  CHECK(budget.next() == 1'000'000);
  budget.missed();
  budget.missed();
  for (int i = 0; i < 32; ++i) CHECK(budget.next() == 0);  // rewards have halved it down to the least
  CHECK(budget.next() > 0);
}

}  // namespace
