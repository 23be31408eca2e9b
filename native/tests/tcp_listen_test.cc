// Listening sockets: port ranges, addresses that cannot be, and IPv6 with and without scope.
#include <doctest/doctest.h>
#include <net/if.h>  // for if_nametoindex

#include <string>  // for to_string
#include <vector>  // for vector

#include "meet.h"
#include "ring/transport/tcp/listen.h"
#include "ring/transport/tcp/socket.h"

using ring::Code;
using ring::transport::tcp::Bound;
using ring::transport::tcp::listen_on;
using ring::transport::tcp::parse_endpoint;
using ring::transport::tcp::parse_port_range;
using ring::transport::tcp::PortRange;

TEST_CASE("a port range is two numbers, one, or none") {
  const auto range = parse_port_range("40000-40100");
  REQUIRE(range);
  CHECK(range.value().first == 40000);
  CHECK(range.value().size() == 101);
  CHECK(parse_port_range("40000").value().size() == 1);
  CHECK(parse_port_range("").value().is_any());
  for (const char* text : {"-", "1-", "-1", "0-5", "5-4", "1-65536", "a", "1 - 2", "1-2-3", "999999"}) {
    CAPTURE(text);
    CHECK(parse_port_range(text).status().code() == Code::kInvalidArgument);
  }
}

TEST_CASE("every port of a range is given once, then the range is named") {
  const auto free_port = listen_on("127.0.0.1").value().port;  // closed again at once
  const auto first = static_cast<std::uint16_t>(free_port > 65000 ? free_port - 400 : free_port);
  const PortRange range{first, static_cast<std::uint16_t>(first + 3)};
  std::vector<Bound> bound;
  auto next = listen_on("127.0.0.1", range);
  for (; next && bound.size() < 5; next = listen_on("127.0.0.1", range)) {
    CHECK(next.value().port >= range.first);
    CHECK(next.value().port <= range.last);
    bound.push_back(std::move(next).value());
  }
  CHECK(bound.size() <= 4);
  CHECK(next.status().code() == Code::kInvalidArgument);
  CHECK(next.status().message().find(std::to_string(first) + "-" + std::to_string(first + 3)) !=
        std::string::npos);
}

TEST_CASE("an address that no interface has is named") {
  const auto bound = listen_on("192.0.2.7");
  CHECK(bound.status().code() == Code::kInvalidArgument);
  CHECK(bound.status().message().find("no interface of this host has this address") != std::string::npos);
  CHECK(listen_on("0.0.0.0").status().code() == Code::kInvalidArgument);
  CHECK(listen_on("::").status().code() == Code::kInvalidArgument);
  CHECK(listen_on("localhost").status().code() == Code::kInvalidArgument);
}

TEST_CASE("a scope belongs to link-local addresses alone") {
  const std::string scope = "%lo";
  auto local = parse_endpoint("fe80::1" + scope, 1);
  REQUIRE(local);
  CHECK(local.value().scope() == ::if_nametoindex("lo"));
  auto bare = parse_endpoint("fe80::1", 1);
  bare.value().add_scope(7);
  CHECK(bare.value().scope() == 7);
  auto global = parse_endpoint("fd00::1", 1);
  global.value().add_scope(7);
  CHECK(global.value().scope() == 0);
}

TEST_CASE("ranks meet over IPv6") {
  if (!listen_on("::1")) return;  // this machine has no IPv6
  auto listeners = ring::testing::open_listeners(3, "tcp", "::1");
  for (auto& outcome : ring::testing::meet_all(listeners)) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
  }
}
