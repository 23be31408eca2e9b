// Ranks that meet over real sockets, as threads of one process.
#pragma once

#include <doctest/doctest.h>

#include <functional>  // for function
#include <string>      // for string
#include <thread>      // for thread
#include <vector>      // for vector

#include "ring/transport/listener.h"

namespace ring::testing {

using transport::ConnectOptions;
using transport::Listener;
using transport::ListenOptions;
using transport::Mesh;

inline const std::string kSecret(32, 's');

inline std::vector<Listener> open_listeners(int size, const std::string& kind,
                                            const std::string& host = "127.0.0.1",
                                            const transport::tcp::TcpOptions& tcp = {}) {
  std::vector<Listener> listeners;
  for (int rank = 0; rank < size; ++rank) {
    ListenOptions options(host, kind, "");
    options.tcp = tcp;
    auto listener = Listener::open(options);
    REQUIRE_MESSAGE(listener, listener.status().report());
    listeners.push_back(std::move(listener).value());
  }
  return listeners;
}

inline std::vector<std::string> addresses_of(const std::vector<Listener>& listeners) {
  std::vector<std::string> addresses;
  for (const auto& listener : listeners) addresses.push_back(listener.address());
  return addresses;
}

inline ConnectOptions options_for(int rank, const std::vector<std::string>& addresses,
                                  double timeout_s = 30) {
  ConnectOptions options;
  options.rank = rank;
  options.addresses = addresses;
  options.run_id = "run";
  options.secret = kSecret;
  for (std::size_t i = 0; i < addresses.size(); ++i) options.hosts.push_back("host" + std::to_string(i));
  options.deadline = Deadline::after(timeout_s);
  options.segment.address_space_bytes = std::uint64_t{1} << 30;  // ranks are threads of one process here
  return options;
}

// Connects the given listeners, each in a thread of its own; `change` adapts the options of one rank.
// Outcomes by place in the list.
inline std::vector<Result<Mesh>> meet_all(
    std::vector<Listener>& listeners, double timeout_s = 30,
    const std::function<void(int, ConnectOptions&)>& change = [](int, ConnectOptions&) {}) {
  const auto addresses = addresses_of(listeners);
  std::vector<Result<Mesh>> outcomes;
  for (std::size_t i = 0; i < listeners.size(); ++i)
    outcomes.emplace_back(Status(Code::kInternal, "not run"));
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < listeners.size(); ++i) {
    threads.emplace_back([&, i] {
      auto options = options_for(static_cast<int>(i), addresses, timeout_s);
      change(static_cast<int>(i), options);
      outcomes[i] = listeners[i].connect(options);
    });
  }
  for (auto& thread : threads) thread.join();
  return outcomes;
}

// Meshes of `size` ranks that met over `kind`.
inline std::vector<Mesh> met_meshes(
    int size, const std::string& kind,
    const std::function<void(int, ConnectOptions&)>& change = [](int, ConnectOptions&) {},
    const transport::tcp::TcpOptions& tcp = {}) {
  auto listeners = open_listeners(size, kind, "127.0.0.1", tcp);
  std::vector<Mesh> meshes;
  for (auto& outcome : meet_all(listeners, 30, change)) {
    REQUIRE_MESSAGE(outcome, outcome.status().report());
    meshes.push_back(std::move(outcome).value());
  }
  return meshes;
}

}  // namespace ring::testing
