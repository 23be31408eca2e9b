#include "ring/transport/handshake/securing.h"

#include <utility>  // for move

namespace ring::transport {

Result<Securing> Securing::begin(UniqueFd socket, tls::Side side, const Digest& key) {
  auto session = tls::Session::create(side, socket.get(), key);
  if (!session) return session.status();
  Securing securing(std::move(socket));
  securing.session_ = std::move(session).value();
  return securing;
}

}  // namespace ring::transport
