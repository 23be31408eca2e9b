#include "ring/transport/shm/socket.h"

#include <sys/socket.h>   // for socket, sendmsg, recvmsg
#include <sys/syscall.h>  // for SYS_pidfd_open
#include <sys/un.h>       // for sockaddr_un

#include <array>    // for array
#include <cerrno>   // for errno
#include <cstddef>  // for offsetof
#include <cstring>  // for memcpy
#include <utility>  // for move

namespace ring::transport::shm {
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

using ControlBuffer = std::array<std::byte, CMSG_SPACE(sizeof(int) * kMaxPassed)>;

std::vector<UniqueFd> take_descriptors(msghdr& message) {
  std::vector<UniqueFd> descriptors;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      descriptors.emplace_back(fd);
    }
  }
  return descriptors;
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

Status send_parcel(int socket, Bytes bytes, const std::vector<int>& descriptors) {
  alignas(cmsghdr) ControlBuffer control{};
  iovec piece{const_cast<std::byte*>(bytes.data), bytes.size};  // sendmsg only reads it
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  if (!descriptors.empty()) {
    const std::size_t size = sizeof(int) * descriptors.size();
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(size);
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(size);
    std::memcpy(CMSG_DATA(part), descriptors.data(), size);
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0) return Status::system("sendmsg", errno);
  if (static_cast<std::size_t>(sent) != bytes.size) return {Code::kInternal, "a parcel was sent in part"};
  return {};
}

Result<Parcel> receive_parcel(int socket, MutableBytes bytes) {
  alignas(cmsghdr) ControlBuffer control{};
  iovec piece{bytes.data, bytes.size};
  msghdr message{};
  message.msg_iov = &piece;
  message.msg_iovlen = 1;
  message.msg_control = control.data();
  message.msg_controllen = control.size();
  const ssize_t got = ::recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR)) return Parcel{};
  if (got < 0) return Status::system("recvmsg", errno);
  Parcel parcel{static_cast<std::size_t>(got), take_descriptors(message)};
  if (got == 0) return Status(Code::kPeerLost, "the peer closed the connection");
  return parcel;
}

UniqueFd own_process() {
#ifdef SYS_pidfd_open
  return UniqueFd(
      static_cast<int>(::syscall(SYS_pidfd_open, ::getpid(), 0)));  // closed on exec by definition
#else
  return UniqueFd();
#endif
}

}  // namespace ring::transport::shm
