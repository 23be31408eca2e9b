// What openssl.h declares by hand, held against the real headers where a machine has them.
#if __has_include(<openssl/ssl.h>)
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#if OPENSSL_VERSION_NUMBER >= 0x30000000L
#include <type_traits>  // for is_same_v

#include "ring/transport/tls/openssl.h"

namespace tls = ring::transport::tls;

#define RING_SAME(name) static_assert(std::is_same_v<decltype(tls::OpenSsl::name), decltype(&::name)>)
RING_SAME(OpenSSL_version_num);
RING_SAME(TLS_method);
RING_SAME(SSL_CTX_new);
RING_SAME(SSL_CTX_free);
RING_SAME(SSL_CTX_ctrl);
RING_SAME(SSL_CTX_set_ciphersuites);
RING_SAME(SSL_CTX_set_num_tickets);
RING_SAME(SSL_CTX_set_default_read_buffer_len);
RING_SAME(SSL_CTX_set_psk_use_session_callback);
RING_SAME(SSL_CTX_set_psk_find_session_callback);
RING_SAME(SSL_new);
RING_SAME(SSL_free);
RING_SAME(SSL_set_bio);
RING_SAME(SSL_set_ex_data);
RING_SAME(SSL_get_ex_data);
RING_SAME(SSL_set_connect_state);
RING_SAME(SSL_set_accept_state);
RING_SAME(SSL_do_handshake);
RING_SAME(SSL_session_reused);
RING_SAME(SSL_read_ex);
RING_SAME(SSL_write_ex);
RING_SAME(SSL_has_pending);
RING_SAME(SSL_get_error);
RING_SAME(SSL_CIPHER_find);
RING_SAME(SSL_SESSION_new);
RING_SAME(SSL_SESSION_free);
RING_SAME(SSL_SESSION_set1_master_key);
RING_SAME(SSL_SESSION_set_cipher);
RING_SAME(SSL_SESSION_set_protocol_version);
RING_SAME(BIO_meth_new);
RING_SAME(BIO_meth_set_write_ex);
RING_SAME(BIO_meth_set_read_ex);
RING_SAME(BIO_meth_set_ctrl);
RING_SAME(BIO_new);
RING_SAME(BIO_set_data);
RING_SAME(BIO_get_data);
RING_SAME(BIO_set_init);
RING_SAME(BIO_set_flags);
RING_SAME(BIO_clear_flags);
RING_SAME(ERR_get_error);
RING_SAME(ERR_clear_error);
RING_SAME(ERR_error_string_n);
#undef RING_SAME

static_assert(tls::kTls13 == TLS1_3_VERSION);
static_assert(tls::kCtrlMode == SSL_CTRL_MODE);
static_assert(tls::kCtrlSetReadAhead == SSL_CTRL_SET_READ_AHEAD);
static_assert(tls::kCtrlSetGroupsList == SSL_CTRL_SET_GROUPS_LIST);
static_assert(tls::kCtrlSetMinProto == SSL_CTRL_SET_MIN_PROTO_VERSION);
static_assert(tls::kCtrlSetMaxProto == SSL_CTRL_SET_MAX_PROTO_VERSION);
static_assert(tls::kModePartialWrite == SSL_MODE_ENABLE_PARTIAL_WRITE);
static_assert(tls::kModeMovingBuffer == SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
static_assert(tls::kVerifyPeer == SSL_VERIFY_PEER);
static_assert(tls::kErrorWantRead == SSL_ERROR_WANT_READ);
static_assert(tls::kErrorWantWrite == SSL_ERROR_WANT_WRITE);
static_assert(tls::kErrorZeroReturn == SSL_ERROR_ZERO_RETURN);
static_assert(tls::kBioSourceSink == BIO_TYPE_SOURCE_SINK);
static_assert(tls::kBioCtrlFlush == BIO_CTRL_FLUSH);
static_assert(tls::kBioRetryRead == (BIO_FLAGS_READ | BIO_FLAGS_SHOULD_RETRY));
static_assert(tls::kBioRetryWrite == (BIO_FLAGS_WRITE | BIO_FLAGS_SHOULD_RETRY));
static_assert(tls::kBioRetryBits == (BIO_FLAGS_RWS | BIO_FLAGS_SHOULD_RETRY));
#endif
#endif
