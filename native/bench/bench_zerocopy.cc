// What MSG_ZEROCOPY is worth on a path: one TCP connection, the same bytes sent plainly and without a copy,
// interleaved, as CSV. A buffer is written again only when the kernel has let go of it. `copied` is the share
// of sends of which the kernel says that it copied them after all.
//   bench_zerocopy                 over loopback, both ends in this process
//   bench_zerocopy serve IP PORT   the receiving end, for ever
//   bench_zerocopy to IP PORT      the sending end
#include <fcntl.h>           // for timespec, which the next one needs
#include <linux/errqueue.h>  // for sock_extended_err
#include <poll.h>            // for poll
#include <sys/resource.h>    // for getrusage
#include <sys/socket.h>      // for send, recv, recvmsg

#include <algorithm>  // for nth_element
#include <array>      // for array
#include <cerrno>     // for errno
#include <chrono>     // for steady_clock
#include <cstdint>    // for uint64_t
#include <cstdio>     // for printf, fprintf
#include <cstdlib>    // for atoi
#include <string>     // for string
#include <thread>     // for thread
#include <vector>     // for vector

#include "ring/base/unique_fd.h"
#include "ring/transport/tcp/listen.h"
#include "ring/transport/tcp/socket.h"

namespace {

using namespace ring;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kTotal = std::size_t{256} << 20;
constexpr std::size_t kBuffers = 16;
constexpr int kRounds = 7;
constexpr std::size_t kSizes[] = {std::size_t{64} << 10, std::size_t{256} << 10, std::size_t{1} << 20};

struct Sample {
  double gb_per_s = 0;
  double cpu_s_per_gb = 0;  // of the sending thread
  double copied = 0;
};

double cpu_s() {
  rusage usage{};
  ::getrusage(RUSAGE_THREAD, &usage);
  const auto seconds = [](timeval t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// Sends that the kernel has let go of, in order; each send call has the next number.
class Releases {
 public:
  explicit Releases(int socket) : socket_(socket) {}

  // Waits until fewer than `most` of `begun` sends are held. False when the socket fails.
  bool wait(std::uint64_t begun, std::uint64_t most) {
    while (begun - done_ >= most) {
      pollfd entry{socket_, 0, 0};  // POLLERR comes unasked
      if (::poll(&entry, 1, 10'000) <= 0 || !read_all()) return false;
    }
    return true;
  }
  [[nodiscard]] double copied() const {
    return done_ == 0 ? 0 : static_cast<double>(copied_) / static_cast<double>(done_);
  }

 private:
  bool read_all() {
    while (true) {
      alignas(cmsghdr) std::array<std::byte, 256> control{};
      msghdr message{};
      message.msg_control = control.data();
      message.msg_controllen = control.size();
      if (::recvmsg(socket_, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return errno == EAGAIN;
      const cmsghdr* part = CMSG_FIRSTHDR(&message);
      if (part == nullptr) return false;
      const auto* told = reinterpret_cast<const sock_extended_err*>(CMSG_DATA(part));
      if (told->ee_origin != SO_EE_ORIGIN_ZEROCOPY) return false;
      const std::uint64_t sends = told->ee_data - told->ee_info + 1;
      done_ += sends;
      if ((told->ee_code & SO_EE_CODE_ZEROCOPY_COPIED) != 0) copied_ += sends;
    }
  }

  int socket_;
  std::uint64_t done_ = 0;
  std::uint64_t copied_ = 0;
};

bool await_end(int socket) {  // the receiver hangs up once it has everything
  char byte = 0;
  return ::recv(socket, &byte, 1, 0) == 0;
}

bool send_all(int socket, std::size_t size, bool zerocopy, double& copied) {
  std::vector<std::vector<char>> buffers(kBuffers, std::vector<char>(size, 'x'));
  Releases releases(socket);
  std::uint64_t begun = 0;
  std::size_t buffer = 0;
  for (std::size_t sent = 0; sent < kTotal;) {
    auto& bytes = buffers[buffer++ % kBuffers];
    for (std::size_t done = 0; done < size;) {
      // A send is a buffer here, but for the few that the kernel takes in part.
      if (zerocopy && !releases.wait(begun, kBuffers)) return false;
      const int flags = MSG_NOSIGNAL | (zerocopy ? MSG_ZEROCOPY : 0);
      const ssize_t moved = ::send(socket, bytes.data() + done, size - done, flags);
      if (moved < 0 && errno == ENOBUFS && releases.wait(begun, begun > 0 ? 1 : 0)) continue;
      if (moved <= 0) return false;
      done += static_cast<std::size_t>(moved);
      ++begun;
    }
    sent += size;
  }
  if (zerocopy && !releases.wait(begun, 1)) return false;
  copied = releases.copied();
  return ::shutdown(socket, SHUT_WR) == 0 && await_end(socket);
}

bool measure(const transport::tcp::Endpoint& endpoint, std::size_t size, bool zerocopy, Sample& sample) {
  const UniqueFd socket(::socket(endpoint.family(), SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (::connect(socket.get(), endpoint.raw(), endpoint.length) != 0) return false;
  if (zerocopy && ::setsockopt(socket.get(), SOL_SOCKET, SO_ZEROCOPY, &on, sizeof on) != 0) return false;
  const double cpu_before = cpu_s();
  const auto start = Clock::now();
  if (!send_all(socket.get(), size, zerocopy, sample.copied)) return false;
  const double gb = static_cast<double>(kTotal) / 1e9;
  sample.gb_per_s = gb / std::chrono::duration<double>(Clock::now() - start).count();
  sample.cpu_s_per_gb = (cpu_s() - cpu_before) / gb;
  return true;
}

double median(std::vector<Sample> samples, double Sample::* field) {
  const auto middle = samples.begin() + static_cast<std::ptrdiff_t>(samples.size() / 2);
  std::nth_element(samples.begin(), middle, samples.end(),
                   [&](const Sample& a, const Sample& b) { return a.*field < b.*field; });
  return (*middle).*field;
}

int send_to(const transport::tcp::Endpoint& endpoint) {
  std::printf("bytes,mode,gb_per_s,sender_cpu_s_per_gb,copied\n");
  for (const std::size_t size : kSizes) {
    std::array<std::vector<Sample>, 2> samples;
    for (int round = 0; round < kRounds; ++round) {
      for (const bool zerocopy : {false, true}) {
        Sample sample;
        if (!measure(endpoint, size, zerocopy, sample)) {
          std::perror("bench_zerocopy");
          return 1;
        }
        samples[zerocopy].push_back(sample);
      }
    }
    for (const bool zerocopy : {false, true}) {
      const auto& mine = samples[zerocopy];
      std::printf("%zu,%s,%.3f,%.3f,%.2f\n", size, zerocopy ? "zerocopy" : "plain",
                  median(mine, &Sample::gb_per_s), median(mine, &Sample::cpu_s_per_gb),
                  median(mine, &Sample::copied));
    }
  }
  return 0;
}

void serve(int listener) {
  std::vector<char> bytes(std::size_t{1} << 20);
  while (true) {
    pollfd entry{listener, POLLIN, 0};
    ::poll(&entry, 1, -1);
    const UniqueFd socket(::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (!socket.valid() && (errno == EINVAL || errno == EBADF)) return;
    while (socket.valid() && ::recv(socket.get(), bytes.data(), bytes.size(), 0) > 0) {
    }
  }
}

Result<transport::tcp::Bound> listen_at(const std::string& ip, int port) {
  const std::string text = std::to_string(port);
  const auto ports = transport::tcp::parse_port_range(port == 0 ? "" : text);
  if (!ports) return ports.status();
  return transport::tcp::listen_on(ip, ports.value());
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  const std::string ip = argc > 2 ? argv[2] : "127.0.0.1";
  int port = argc > 3 ? std::atoi(argv[3]) : 0;
  std::thread receiver;
  auto listening = Result<transport::tcp::Bound>(Status(Code::kInvalidArgument, "no listener"));
  if (mode != "to") {
    listening = listen_at(ip, port);
    if (!listening) {
      std::fprintf(stderr, "%s\n", listening.status().report().c_str());
      return 1;
    }
    if (mode == "serve") {
      serve(listening.value().socket.get());
      return 0;
    }
    port = listening.value().port;
    receiver = std::thread(serve, listening.value().socket.get());
  }
  const auto endpoint = transport::tcp::parse_endpoint(ip, static_cast<std::uint16_t>(port));
  const int status = endpoint ? send_to(endpoint.value()) : 1;
  if (receiver.joinable()) {
    ::shutdown(listening.value().socket.get(), SHUT_RDWR);
    receiver.join();
  }
  return status;
}
