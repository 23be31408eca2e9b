#include "ring/transport/tcp/link.h"

#include <algorithm>  // for min
#include <string>     // for to_string
#include <utility>    // for move

namespace ring::transport::tcp {
namespace {

// A stripe is as much as one call of the pump moves, and fits into the socket's buffer.
constexpr std::size_t kStripeBytes = std::size_t{256} << 10;

}  // namespace

TcpLink::TcpLink(int peer, std::vector<Stream> streams) : peer_(peer), streams_(std::move(streams)) {}

Result<std::size_t> TcpLink::send_some(Bytes bytes) {
  std::size_t total = 0;
  while (!out_.ended && total < bytes.size) {
    const Bytes part(bytes.data + total, room(out_, bytes.size - total));
    const Step moved = streams_[out_.stream].send_some(part);
    if (moved.flow != Flow::kMoved) return total > 0 ? total : stopped(moved, out_);
    advance(out_, moved.bytes);
    total += moved.bytes;
    if (moved.bytes < part.size) break;  // the next call would block
  }
  return total;
}

Result<std::size_t> TcpLink::recv_some(MutableBytes bytes) {
  std::size_t total = 0;
  while (!in_.ended && total < bytes.size) {
    const MutableBytes part(bytes.data + total, room(in_, bytes.size - total));
    const Step moved = streams_[in_.stream].recv_some(part);
    if (moved.flow != Flow::kMoved) return total > 0 ? total : stopped(moved, in_);
    advance(in_, moved.bytes);
    total += moved.bytes;
    if (moved.bytes < part.size) break;
  }
  return total;
}

bool TcpLink::arm(unsigned interest, std::vector<pollfd>& fds) {
  const bool recv = (interest & kCanRecv) != 0 && !in_.ended;
  const bool send = (interest & kCanSend) != 0 && !out_.ended;
  if (recv && !streams_[in_.stream].drained()) return true;
  const bool together = recv && send && in_.stream == out_.stream;
  const int recv_events = POLLIN | (together ? POLLOUT : 0);
  if (recv) fds.push_back({streams_[in_.stream].fd(), static_cast<short>(recv_events), 0});
  if (send && !together) fds.push_back({streams_[out_.stream].fd(), POLLOUT, 0});
  return false;
}

void TcpLink::close() noexcept {
  for (Stream& stream : streams_) stream.reset();
  in_.ended = true;
  out_.ended = true;
}

std::size_t TcpLink::room(const Turn& turn, std::size_t wanted) const noexcept {
  return streams_.size() == 1 ? wanted : std::min(wanted, kStripeBytes - turn.moved);
}

void TcpLink::advance(Turn& turn, std::size_t bytes) const noexcept {
  if (streams_.size() == 1) return;
  turn.moved += bytes;
  if (turn.moved < kStripeBytes) return;
  turn.moved = 0;
  turn.stream = (turn.stream + 1) % streams_.size();
}

Result<std::size_t> TcpLink::stopped(Step moved, Turn& turn) const {
  if (moved.flow == Flow::kBlocked) return std::size_t{0};
  turn.ended = true;
  if (moved.flow == Flow::kEnded) return std::size_t{0};
  return Status(Code::kPeerLost,
                "rank " + std::to_string(peer_) +
                    " is lost: its data connection failed: " + streams_[turn.stream].trouble(),
                peer_);
}

}  // namespace ring::transport::tcp
