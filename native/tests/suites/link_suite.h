// The one suite that every transport passes. RING_LINK_SUITE("name", kind) makes its test cases in a file
// that is named after the transport; `kind` is a function without arguments that gives a LinkKind.
#pragma once

#include <doctest/doctest.h>

#include <functional>  // for function
#include <vector>      // for vector

#include "ring/transport/mesh.h"

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
void test_end_wakes_a_waiter(const LinkKind& kind);
void test_last_words_are_heard(const LinkKind& kind);
void test_words_overtake_stuck_data(const LinkKind& kind);
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
  TEST_CASE(name ": the end of a stream wakes who waits") {                  \
    ::ring::testing::test_end_wakes_a_waiter(kind());                        \
  }                                                                          \
  TEST_CASE(name ": last words are heard after the end") {                   \
    ::ring::testing::test_last_words_are_heard(kind());                      \
  }                                                                          \
  TEST_CASE(name ": words overtake stuck data") {                            \
    ::ring::testing::test_words_overtake_stuck_data(kind());                 \
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
