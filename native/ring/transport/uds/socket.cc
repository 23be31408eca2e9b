#include "ring/transport/uds/socket.h"

#include <sys/socket.h>   // for socket, sendmsg, recvmsg
#include <sys/syscall.h>  // for SYS_pidfd_open
#include <sys/un.h>       // for sockaddr_un

#include <array>    // for array
#include <cerrno>   // for errno
#include <cstddef>  // for offsetof
#include <cstring>  // for memcpy
#include <utility>  // for move

namespace ring::transport::uds {
namespace {

constexpr int kBacklog = 1024;

struct AbstractAddress {
  sockaddr_un address{};
  socklen_t length = 0;
};

Result<AbstractAddress> abstract_address(const std::string& name) {
  AbstractAddress result;
  if (name.empty() || name.size() + 1 > sizeof result.address.sun_path) {
    return Status(Code::kInvalidArgument, "a Unix socket name of impossible length");
  }
  result.address.sun_family = AF_UNIX;
  std::memcpy(result.address.sun_path + 1, name.data(), name.size());  // the zero before it makes it abstract
  result.length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  return result;
}

Result<UniqueFd> open_socket() {
  UniqueFd socket(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.valid()) return Status::system("Unix socket", errno);
  return socket;
}

// Room for one more than is wanted: what a liar sends beyond it is closed, not leaked.
constexpr std::size_t kMostReceived = 2;

// Keeps the first descriptor, closes all others.
void take_descriptors(msghdr& message, UniqueFd& kept) {
  bool first = true;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      UniqueFd received(fd);
      if (first) kept = std::move(received);
      first = false;
    }
  }
}

}  // namespace

Result<UniqueFd> listen_abstract(const std::string& name) {
  const auto address = abstract_address(name);
  if (!address) return address.status();
  auto socket = open_socket();
  if (!socket) return socket.status();
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.value().address);
  if (::bind(socket.value().get(), raw, address.value().length) != 0)
    return Status::system("Unix bind", errno);
  if (::listen(socket.value().get(), kBacklog) != 0) return Status::system("Unix listen", errno);
  return socket;
}

Result<UniqueFd> connect_abstract(const std::string& name) {
  const auto address = abstract_address(name);
  if (!address) return address.status();
  auto socket = open_socket();
  if (!socket) return socket.status();
  const auto* raw = reinterpret_cast<const sockaddr*>(&address.value().address);
  if (::connect(socket.value().get(), raw, address.value().length) != 0) {
    return Status::system("Unix connect", errno);
  }
  return socket;
}

Status send_parcel(int socket, Bytes bytes, int descriptor) {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int))> control{};
  iovec piece{const_cast<std::byte*>(bytes.data), bytes.size};  // sendmsg only reads it
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  cmsghdr* part = CMSG_FIRSTHDR(&message);
  part->cmsg_level = SOL_SOCKET;
  part->cmsg_type = SCM_RIGHTS;
  part->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(part), &descriptor, sizeof descriptor);
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return Status::system("sendmsg", errno);
  if (static_cast<std::size_t>(sent) != bytes.size) return {Code::kInternal, "a parcel was sent in part"};
  return {};
}

ssize_t receive_with(int socket, MutableBytes bytes, UniqueFd& descriptor) noexcept {
  alignas(cmsghdr) std::array<std::byte, CMSG_SPACE(sizeof(int) * kMostReceived)> control{};
  iovec piece{bytes.data, bytes.size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got >= 0) take_descriptors(message, descriptor);
  return got;
}

UniqueFd own_process() {
#ifdef SYS_pidfd_open
  return UniqueFd(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));  // closed on exec by definition
#else
  return UniqueFd();
#endif
}

}  // namespace ring::transport::uds
