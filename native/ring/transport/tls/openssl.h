// OpenSSL's libssl, opened at run time: the few functions that TLS 1.3 with a pre-shared key needs, declared
// by hand, so that neither its headers nor the library are needed to build or, without TLS, to run. What is
// declared here has been the same since OpenSSL 1.1.1 (OpenSSL keeps its ABI within a major version).
// Thread-safe: immutable once loaded.
#pragma once

#include <cstddef>  // for size_t
#include <cstdint>  // for uint64_t
#include <string>   // for string

#include "ring/base/status.h"

extern "C" {
struct ssl_st;
struct ssl_ctx_st;
struct ssl_method_st;
struct ssl_session_st;
struct ssl_cipher_st;
struct evp_md_st;
struct bio_st;
struct bio_method_st;
}

namespace ring::transport::tls {

using Ssl = ssl_st;
using SslCtx = ssl_ctx_st;
using SslMethod = ssl_method_st;
using SslSession = ssl_session_st;
using SslCipher = ssl_cipher_st;
using EvpMd = evp_md_st;
using Bio = bio_st;
using BioMethod = bio_method_st;

// Numbers of OpenSSL's headers.
inline constexpr int kTls13 = 0x0304;
inline constexpr int kCtrlMode = 33;
inline constexpr int kCtrlSetReadAhead = 41;
inline constexpr int kCtrlSetGroupsList = 92;
inline constexpr int kCtrlSetMinProto = 123;
inline constexpr int kCtrlSetMaxProto = 124;
inline constexpr long kModePartialWrite = 0x1;
inline constexpr long kModeMovingBuffer = 0x2;
inline constexpr int kVerifyPeer = 0x1;
inline constexpr int kErrorWantRead = 2;
inline constexpr int kErrorWantWrite = 3;
inline constexpr int kErrorZeroReturn = 6;
inline constexpr int kBioSourceSink = 0x0400;
inline constexpr int kBioCtrlFlush = 11;
inline constexpr int kBioRetryRead = 0x09;   // should retry, reading
inline constexpr int kBioRetryWrite = 0x0a;  // should retry, writing
inline constexpr int kBioRetryBits = 0x0f;

using UsePsk = int (*)(Ssl*, const EvpMd*, const unsigned char** id, std::size_t* id_size, SslSession**);
using FindPsk = int (*)(Ssl*, const unsigned char* id, std::size_t id_size, SslSession**);
using BioWrite = int (*)(Bio*, const char*, std::size_t, std::size_t*);
using BioRead = int (*)(Bio*, char*, std::size_t, std::size_t*);
using BioCtrl = long (*)(Bio*, int, long, void*);

// One entry for each function, by its own name.
struct OpenSsl {
  unsigned long (*OpenSSL_version_num)();
  const SslMethod* (*TLS_method)();
  SslCtx* (*SSL_CTX_new)(const SslMethod*);
  void (*SSL_CTX_free)(SslCtx*);
  long (*SSL_CTX_ctrl)(SslCtx*, int, long, void*);
  int (*SSL_CTX_set_ciphersuites)(SslCtx*, const char*);
  int (*SSL_CTX_set_num_tickets)(SslCtx*, std::size_t);
  void (*SSL_set_verify)(Ssl*, int, int (*)(int, void*));
  void (*SSL_CTX_set_default_read_buffer_len)(SslCtx*, std::size_t);
  void (*SSL_CTX_set_psk_use_session_callback)(SslCtx*, UsePsk);
  void (*SSL_CTX_set_psk_find_session_callback)(SslCtx*, FindPsk);
  Ssl* (*SSL_new)(SslCtx*);
  void (*SSL_free)(Ssl*);
  void (*SSL_set_bio)(Ssl*, Bio*, Bio*);
  int (*SSL_set_ex_data)(Ssl*, int, void*);
  void* (*SSL_get_ex_data)(const Ssl*, int);
  void (*SSL_set_connect_state)(Ssl*);
  void (*SSL_set_accept_state)(Ssl*);
  int (*SSL_do_handshake)(Ssl*);
  int (*SSL_session_reused)(const Ssl*);
  int (*SSL_read_ex)(Ssl*, void*, std::size_t, std::size_t*);
  int (*SSL_write_ex)(Ssl*, const void*, std::size_t, std::size_t*);
  int (*SSL_has_pending)(const Ssl*);
  int (*SSL_get_error)(const Ssl*, int);
  const SslCipher* (*SSL_CIPHER_find)(Ssl*, const unsigned char*);
  SslSession* (*SSL_SESSION_new)();
  void (*SSL_SESSION_free)(SslSession*);
  int (*SSL_SESSION_set1_master_key)(SslSession*, const unsigned char*, std::size_t);
  int (*SSL_SESSION_set_cipher)(SslSession*, const SslCipher*);
  int (*SSL_SESSION_set_protocol_version)(SslSession*, int);
  BioMethod* (*BIO_meth_new)(int, const char*);
  int (*BIO_meth_set_write_ex)(BioMethod*, BioWrite);
  int (*BIO_meth_set_read_ex)(BioMethod*, BioRead);
  int (*BIO_meth_set_ctrl)(BioMethod*, BioCtrl);
  Bio* (*BIO_new)(const BioMethod*);
  void (*BIO_set_data)(Bio*, void*);
  void* (*BIO_get_data)(Bio*);
  void (*BIO_set_init)(Bio*, int);
  void (*BIO_set_flags)(Bio*, int);
  void (*BIO_clear_flags)(Bio*, int);
  unsigned long (*ERR_get_error)();
  void (*ERR_clear_error)();
  void (*ERR_error_string_n)(unsigned long, char*, std::size_t);
};

// Opens the library and finds every function. kMissingLibrary tells what to install.
[[nodiscard]] Result<OpenSsl> open_openssl(const std::string& file_name);

// The table of this process: libssl.so.3, else libssl.so.1.1, looked for once and never closed.
[[nodiscard]] Result<const OpenSsl*> openssl();

}  // namespace ring::transport::tls
