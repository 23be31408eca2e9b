// The one suite that every transport passes. RING_LINK_SUITE("name", kind) makes its test cases in a file
// that is named after the transport; `kind` is a function without arguments that gives a LinkKind.
#pragma once

#include <doctest/doctest.h>

#include <functional>  // for function
#include <vector>      // for vector

#include "ring/transport/link.h"

namespace ring::testing {

struct LinkKind {
  std::function<std::vector<transport::Mesh>(int size)> meshes;
  std::function<std::vector<transport::Mesh>(int size)> tight_meshes;  // with buffers as small as can be
  int pings = 100'000;
  std::size_t tight_bytes = std::size_t{1} << 20;  // as many as pass through small buffers in about a second
};

void test_streams_keep_order(const LinkKind& kind);
void test_no_wakeup_is_lost(const LinkKind& kind);
void test_sleeping_sender_wakes(const LinkKind& kind);
void test_lost_peer_wakes_a_waiter(const LinkKind& kind);
void test_lost_peer_wakes_who_waits_for_another(const LinkKind& kind);
void test_abort_overtakes_stuck_data(const LinkKind& kind);
void test_first_cause_stays(const LinkKind& kind);
void test_orderly_leave_is_no_failure_until_needed(const LinkKind& kind);
void test_closed_link_refuses_work(const LinkKind& kind);
void test_wait_ends_by_deadline_and_by_other_events(const LinkKind& kind);
void test_empty_moves(const LinkKind& kind);

}  // namespace ring::testing

#define RING_LINK_SUITE(name, kind)                                          \
  TEST_CASE(name ": both directions keep their order") {                     \
    ::ring::testing::test_streams_keep_order(kind());                        \
  }                                                                          \
  TEST_CASE(name ": no wake-up is lost") {                                   \
    ::ring::testing::test_no_wakeup_is_lost(kind());                         \
  }                                                                          \
  TEST_CASE(name ": a sleeping sender wakes") {                              \
    ::ring::testing::test_sleeping_sender_wakes(kind());                     \
  }                                                                          \
  TEST_CASE(name ": a lost peer wakes who waits for it") {                   \
    ::ring::testing::test_lost_peer_wakes_a_waiter(kind());                  \
  }                                                                          \
  TEST_CASE(name ": a lost peer wakes who waits for another") {              \
    ::ring::testing::test_lost_peer_wakes_who_waits_for_another(kind());     \
  }                                                                          \
  TEST_CASE(name ": an abort overtakes stuck data") {                        \
    ::ring::testing::test_abort_overtakes_stuck_data(kind());                \
  }                                                                          \
  TEST_CASE(name ": the first cause stays") {                                \
    ::ring::testing::test_first_cause_stays(kind());                         \
  }                                                                          \
  TEST_CASE(name ": leaving in order is no failure until needed") {          \
    ::ring::testing::test_orderly_leave_is_no_failure_until_needed(kind());  \
  }                                                                          \
  TEST_CASE(name ": a closed link refuses work") {                           \
    ::ring::testing::test_closed_link_refuses_work(kind());                  \
  }                                                                          \
  TEST_CASE(name ": a wait ends by its deadline and by other events") {      \
    ::ring::testing::test_wait_ends_by_deadline_and_by_other_events(kind()); \
  }                                                                          \
  TEST_CASE(name ": empty moves are no moves") {                             \
    ::ring::testing::test_empty_moves(kind());                               \
  }
