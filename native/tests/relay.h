// Relay: a TCP port that passes everything on to another one and keeps a copy of the bytes.
#pragma once

#include <doctest/doctest.h>
#include <poll.h>         // for poll
#include <sys/eventfd.h>  // for eventfd
#include <sys/socket.h>   // for accept, connect, recv, send

#include <cstdint>  // for uint16_t, uint64_t
#include <list>     // for list
#include <string>   // for string
#include <thread>   // for thread
#include <utility>  // for move
#include <vector>   // for vector

#include "ring/base/unique_fd.h"
#include "ring/transport/tcp/listen.h"
#include "ring/transport/tcp/socket.h"

namespace ring::testing {

class Relay {
 public:
  // To a port of 127.0.0.1.
  explicit Relay(std::uint16_t target) : target_(target), stop_(::eventfd(0, EFD_CLOEXEC)) {
    auto bound = transport::tcp::listen_on("127.0.0.1", {});
    REQUIRE(bound);
    listener_ = std::move(bound.value().socket);
    port_ = bound.value().port;
    thread_ = std::thread([this] { run(); });
  }
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;
  ~Relay() {
    if (thread_.joinable()) (void)stop();
  }

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }
  // Ends it, with all its connections; what passed through.
  const std::string& stop() {
    const std::uint64_t one = 1;
    REQUIRE(::write(stop_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
    pairs_.clear();
    return seen_;
  }

 private:
  struct Pair {
    UniqueFd near;
    UniqueFd far;
    bool open = true;
  };

  void run() {
    while (true) {
      std::vector<pollfd> fds{{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      for (const Pair& pair : pairs_) {
        fds.push_back({pair.near.get(), POLLIN, 0});
        fds.push_back({pair.far.get(), POLLIN, 0});
      }
      ::poll(fds.data(), fds.size(), -1);
      if (fds[0].revents != 0) return;
      for (Pair& pair : pairs_) {
        if (!pass(pair.near, pair.far) || !pass(pair.far, pair.near)) pair.open = false;
      }
      pairs_.remove_if([](const Pair& pair) { return !pair.open; });
      if (fds[1].revents != 0) take_in();
    }
  }

  void take_in() {
    UniqueFd near(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
    const auto endpoint = transport::tcp::parse_endpoint("127.0.0.1", target_);
    UniqueFd far(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (near.valid() && ::connect(far.get(), endpoint.value().raw(), endpoint.value().length) == 0) {
      pairs_.push_back({std::move(near), std::move(far)});
    }
  }

  // False once the connection has ended.
  bool pass(const UniqueFd& from, const UniqueFd& to) {
    char piece[4096];
    while (true) {
      const ssize_t got = ::recv(from.get(), piece, sizeof piece, MSG_DONTWAIT);
      if (got < 0) return true;
      if (got == 0 || ::send(to.get(), piece, static_cast<std::size_t>(got), MSG_NOSIGNAL) != got)
        return false;
      seen_.append(piece, static_cast<std::size_t>(got));
    }
  }

  std::uint16_t target_;
  std::uint16_t port_ = 0;
  UniqueFd stop_;
  UniqueFd listener_;
  std::list<Pair> pairs_;
  std::string seen_;
  std::thread thread_;
};

}  // namespace ring::testing
