#include "ring/transport/tls/session.h"

#include <poll.h>        // for POLLIN, POLLOUT
#include <sys/socket.h>  // for recv, send

#include <algorithm>  // for min
#include <cerrno>     // for errno
#include <cstring>    // for memcmp, strerror

namespace ring::transport::tls {
namespace {

constexpr std::size_t kRecordBytes = std::size_t{16} << 10;
constexpr std::size_t kReadAheadBytes = std::size_t{128} << 10;
constexpr char kIdentity[] = "sparkdl-ring";
// TLS_AES_128_GCM_SHA256 alone: its hash is that of the key, and every machine of the last decade speeds it
// up.
constexpr unsigned char kCipher[] = {0x13, 0x01};
constexpr char kCipherName[] = "TLS_AES_128_GCM_SHA256";
constexpr char kGroups[] = "X25519:P-256";

// Stands for bytes of a record under way, which nobody looks at any more.
constexpr std::byte kBlank[kRecordBytes]{};

bool would_block(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == EINTR;
}

}  // namespace

// What all sessions of the process share; it holds no secret.
struct Shared {
  const OpenSsl* library = nullptr;
  SslCtx* context = nullptr;
  BioMethod* socket_method = nullptr;

  static Result<Shared> make() {
    const auto found = openssl();
    if (!found) return found.status();
    Shared shared;
    shared.library = found.value();
    const OpenSsl& ssl = *shared.library;
    shared.context = ssl.SSL_CTX_new(ssl.TLS_method());
    shared.socket_method = ssl.BIO_meth_new(kBioSourceSink, "sparkdl-ring socket");
    const bool made = shared.context != nullptr && shared.socket_method != nullptr && shared.configure();
    if (!made) return Status(Code::kInternal, "OpenSSL refuses a plain TLS 1.3 context");
    return shared;
  }

  static const Result<Shared>& get() {
    static const Result<Shared> shared = make();
    return shared;
  }

 private:
  [[nodiscard]] bool configure() const {
    const OpenSsl& ssl = *library;
    SslCtx* ctx = context;
    ssl.SSL_CTX_set_psk_use_session_callback(ctx, &Session::use_psk);
    ssl.SSL_CTX_set_psk_find_session_callback(ctx, &Session::find_psk);
    ssl.SSL_CTX_ctrl(ctx, kCtrlMode, kModePartialWrite | kModeMovingBuffer, nullptr);
    ssl.SSL_CTX_ctrl(ctx, kCtrlSetReadAhead, 1, nullptr);
    ssl.SSL_CTX_set_default_read_buffer_len(ctx, kReadAheadBytes);
    ssl.BIO_meth_set_write_ex(socket_method, &Session::write);
    ssl.BIO_meth_set_read_ex(socket_method, &Session::read);
    ssl.BIO_meth_set_ctrl(socket_method, &Session::control);
    return ssl.SSL_CTX_ctrl(ctx, kCtrlSetMinProto, kTls13, nullptr) == 1 &&
           ssl.SSL_CTX_ctrl(ctx, kCtrlSetMaxProto, kTls13, nullptr) == 1 &&
           ssl.SSL_CTX_ctrl(ctx, kCtrlSetGroupsList, 0, const_cast<char*>(kGroups)) == 1 &&
           ssl.SSL_CTX_set_ciphersuites(ctx, kCipherName) == 1 && ssl.SSL_CTX_set_num_tickets(ctx, 0) == 1;
  }
};

Session::Session(const OpenSsl& library, int socket, const Digest& key)
    : library_(library), socket_(socket), key_(key) {}

Session::~Session() {
  if (ssl_ != nullptr) library_.SSL_free(ssl_);
}

Result<std::unique_ptr<Session>> Session::create(Side side, int socket, const Digest& key) {
  const Result<Shared>& shared = Shared::get();
  if (!shared) return shared.status();
  std::unique_ptr<Session> session(new Session(*shared.value().library, socket, key));
  if (!session->start(side)) return Status(Code::kInternal, "OpenSSL has no memory for a connection");
  return session;
}

bool Session::start(Side side) {
  const Shared& shared = Shared::get().value();
  ssl_ = library_.SSL_new(shared.context);
  Bio* bio = library_.BIO_new(shared.socket_method);
  if (ssl_ == nullptr || bio == nullptr) return false;
  library_.BIO_set_data(bio, this);
  library_.BIO_set_init(bio, 1);
  library_.SSL_set_bio(ssl_, bio, bio);  // owns it from now on
  if (library_.SSL_set_ex_data(ssl_, 0, this) != 1) return false;
  if (side == Side::kAcceptor) {
    library_.SSL_set_accept_state(ssl_);
    return true;
  }
  library_.SSL_set_connect_state(ssl_);
  // An acceptor that ignores the key and shows a certificate is refused: no certificate is trusted.
  library_.SSL_set_verify(ssl_, kVerifyPeer, nullptr);
  return true;
}

Session::Progress Session::handshake() {
  library_.ERR_clear_error();
  const int result = library_.SSL_do_handshake(ssl_);
  if (result == 1) {
    // Without the key there is no session to go on with: the other end would be anybody.
    if (library_.SSL_session_reused(ssl_) == 1) {
      drained_ = library_.SSL_has_pending(ssl_) == 0;  // data may have come right behind the handshake
      return Progress::kDone;
    }
    trouble_ = "the TLS handshake did not use the key of this run";
    return Progress::kFailed;
  }
  const Step moved = outcome(result, 0);
  if (moved.flow == Flow::kBlocked) return Progress::kPending;
  if (moved.flow == Flow::kEnded) trouble_ = "it closed the connection during the TLS handshake";
  return Progress::kFailed;
}

Step Session::send_some(Bytes bytes) {
  if (bytes.size == 0) return {Flow::kMoved, 0};
  if (ahead_ == 0) {
    // A record that is under way is encrypted already and goes on as it was, whatever is given now.
    const std::size_t length = under_way_ > 0 ? under_way_ : std::min(bytes.size, kRecordBytes);
    const void* data = length <= bytes.size ? static_cast<const void*>(bytes.data) : kBlank;
    library_.ERR_clear_error();
    std::size_t sent = 0;
    const int result = library_.SSL_write_ex(ssl_, data, length, &sent);
    const Step step = outcome(result, sent);
    if (step.flow != Flow::kMoved) {
      if (step.flow == Flow::kBlocked) under_way_ = length;
      return step;
    }
    under_way_ = 0;
    ahead_ = sent;
  }
  const std::size_t counted = std::min(ahead_, bytes.size);
  ahead_ -= counted;
  return {Flow::kMoved, counted};
}

Step Session::recv_some(MutableBytes bytes) {
  if (bytes.size == 0) return {Flow::kMoved, 0};
  library_.ERR_clear_error();
  std::size_t got = 0;
  const int result = library_.SSL_read_ex(ssl_, bytes.data, bytes.size, &got);
  const Step moved = outcome(result, got);
  drained_ = moved.flow != Flow::kMoved;
  return moved;
}

Step Session::outcome(int result, std::size_t bytes) {
  if (result == 1) return {Flow::kMoved, bytes};
  const int error = library_.SSL_get_error(ssl_, result);
  if (error == kErrorWantRead || error == kErrorWantWrite) {
    awaited_ = error == kErrorWantRead ? POLLIN : POLLOUT;
    return {Flow::kBlocked, 0};
  }
  if (error == kErrorZeroReturn || socket_ended_) return {Flow::kEnded, 0};
  if (socket_error_ != 0) {
    trouble_ = std::strerror(socket_error_);
    return {Flow::kBroken, 0};
  }
  char text[256] = "unknown error";
  library_.ERR_error_string_n(library_.ERR_get_error(), text, sizeof text);
  trouble_ = std::string("TLS: ") + text;
  return {Flow::kBroken, 0};
}

SslSession* Session::make_psk(Ssl* ssl) const {
  const SslCipher* cipher = library_.SSL_CIPHER_find(ssl, kCipher);
  SslSession* psk = cipher == nullptr ? nullptr : library_.SSL_SESSION_new();
  if (psk == nullptr) return nullptr;
  const bool made = library_.SSL_SESSION_set1_master_key(
                        psk, reinterpret_cast<const unsigned char*>(key_.data()), key_.size()) == 1 &&
                    library_.SSL_SESSION_set_cipher(psk, cipher) == 1 &&
                    library_.SSL_SESSION_set_protocol_version(psk, kTls13) == 1;
  if (made) return psk;
  library_.SSL_SESSION_free(psk);
  return nullptr;
}

int Session::use_psk(Ssl* ssl, const EvpMd*, const unsigned char** id, std::size_t* id_size,
                     SslSession** psk) {
  const auto* self = static_cast<const Session*>(Shared::get().value().library->SSL_get_ex_data(ssl, 0));
  *id = reinterpret_cast<const unsigned char*>(kIdentity);
  *id_size = sizeof kIdentity - 1;
  *psk = self->make_psk(ssl);
  return *psk == nullptr ? 0 : 1;
}

int Session::find_psk(Ssl* ssl, const unsigned char* id, std::size_t id_size, SslSession** psk) {
  const auto* self = static_cast<const Session*>(Shared::get().value().library->SSL_get_ex_data(ssl, 0));
  *psk = nullptr;
  if (id_size != sizeof kIdentity - 1 || std::memcmp(id, kIdentity, id_size) != 0) return 1;  // not found
  *psk = self->make_psk(ssl);
  return *psk == nullptr ? 0 : 1;
}

int Session::write(Bio* bio, const char* data, std::size_t size, std::size_t* done) {
  const OpenSsl& library = *Shared::get().value().library;
  auto* self = static_cast<Session*>(library.BIO_get_data(bio));
  library.BIO_clear_flags(bio, kBioRetryBits);
  const ssize_t sent = ::send(self->socket_, data, size, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (sent >= 0) {
    *done = static_cast<std::size_t>(sent);
    return 1;
  }
  if (would_block(errno)) {
    library.BIO_set_flags(bio, kBioRetryWrite);
  } else if (errno == EPIPE || errno == ECONNRESET) {
    self->socket_ended_ = true;
  } else {
    self->socket_error_ = errno;
  }
  return 0;
}

int Session::read(Bio* bio, char* data, std::size_t size, std::size_t* done) {
  const OpenSsl& library = *Shared::get().value().library;
  auto* self = static_cast<Session*>(library.BIO_get_data(bio));
  library.BIO_clear_flags(bio, kBioRetryBits);
  const ssize_t got = ::recv(self->socket_, data, size, MSG_DONTWAIT);
  if (got > 0) {
    *done = static_cast<std::size_t>(got);
    return 1;
  }
  if (got == 0 || errno == ECONNRESET) {
    self->socket_ended_ = true;
  } else if (would_block(errno)) {
    library.BIO_set_flags(bio, kBioRetryRead);
  } else {
    self->socket_error_ = errno;
  }
  return 0;
}

long Session::control(Bio*, int command, long, void*) {
  return command == kBioCtrlFlush ? 1 : 0;  // nothing is held back
}

}  // namespace ring::transport::tls
