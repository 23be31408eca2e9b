// Session: one end of a TLS 1.3 connection over a connected, non-blocking socket. No certificates: both ends
// hold one 32-byte key of this connection alone (pre-shared key with ephemeral key exchange, TLS 1.3 only).
// Owner: the Stream over it. Thread-safety: none.
#pragma once

#include <array>    // for array
#include <cstddef>  // for size_t
#include <memory>   // for unique_ptr
#include <string>   // for string

#include "ring/base/bytes.h"
#include "ring/base/sha256.h"
#include "ring/base/status.h"
#include "ring/transport/flow.h"
#include "ring/transport/tls/openssl.h"

namespace ring::transport::tls {

enum class Side { kConnector, kAcceptor };

class Session {
 public:
  enum class Progress { kDone, kPending, kFailed };

  // `socket` is borrowed and outlives the session. kMissingLibrary without OpenSSL.
  [[nodiscard]] static Result<std::unique_ptr<Session>> create(Side side, int socket, const Digest& key);
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session();

  // Moves the handshake on. kFailed: the peer has another key, or speaks no TLS; `trouble` says more.
  [[nodiscard]] Progress handshake();
  // What a pending handshake waits for: POLLIN or POLLOUT.
  [[nodiscard]] short awaited() const noexcept { return awaited_; }

  // One record at most, and only whole ones: bytes that a send has counted are in the kernel's hands. What a
  // blocked send was given must be given again, though perhaps less or more at once. kBroken: `trouble` says
  // why.
  [[nodiscard]] Step send_some(Bytes bytes);
  [[nodiscard]] Step recv_some(MutableBytes bytes);
  // False while something may be held inside: the socket would not wake anybody for it.
  [[nodiscard]] bool drained() const noexcept { return drained_; }

  [[nodiscard]] const std::string& trouble() const noexcept { return trouble_; }

 private:
  Session(const OpenSsl& library, int socket, const Digest& key);
  [[nodiscard]] bool start(Side side);
  [[nodiscard]] Step outcome(int result, std::size_t bytes);
  [[nodiscard]] SslSession* make_psk(Ssl* ssl) const;
  static int use_psk(Ssl*, const EvpMd*, const unsigned char**, std::size_t*, SslSession**);
  static int find_psk(Ssl*, const unsigned char*, std::size_t, SslSession**);
  static int write(Bio*, const char*, std::size_t, std::size_t*);
  static int read(Bio*, char*, std::size_t, std::size_t*);
  static long control(Bio*, int, long, void*);
  friend struct Shared;

  const OpenSsl& library_;
  int socket_;
  Digest key_;
  Ssl* ssl_ = nullptr;
  short awaited_ = 0;
  bool drained_ = true;
  std::size_t under_way_ = 0;  // plain bytes of a record that did not fit into the socket as a whole
  std::size_t ahead_ = 0;      // bytes of a record that is sent, beyond those that were counted
  int socket_error_ = 0;
  bool socket_ended_ = false;
  std::string trouble_;
};

}  // namespace ring::transport::tls
