#include "ring/transport/tls/openssl.h"

#include <dlfcn.h>  // for dlopen, dlsym

namespace ring::transport::tls {
namespace {

constexpr unsigned long kOldest = 0x10101000;  // 1.1.1, the first with TLS 1.3

Status missing(const std::string& why) {
  return {Code::kMissingLibrary,
          "comm.tls needs OpenSSL 1.1.1 or newer, which cannot be used on this host (" + why +
              "): install it on every host (Debian, Ubuntu: libssl3; Red Hat, Amazon: openssl-libs; conda: "
              "openssl), or set comm.tls to false"};
}

std::string loader_error() {
  const char* text = ::dlerror();
  return text == nullptr ? "unknown error" : text;
}

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

// Name of the first function that is not there, nullptr when all are.
const char* fill(void* library, OpenSsl& table) {
#define RING_FIND(name) \
  if (!find(library, #name, table.name)) return #name
  RING_FIND(OpenSSL_version_num);
  RING_FIND(TLS_method);
  RING_FIND(SSL_CTX_new);
  RING_FIND(SSL_CTX_free);
  RING_FIND(SSL_CTX_ctrl);
  RING_FIND(SSL_CTX_set_ciphersuites);
  RING_FIND(SSL_CTX_set_num_tickets);
  RING_FIND(SSL_set_verify);
  RING_FIND(SSL_CTX_set_default_read_buffer_len);
  RING_FIND(SSL_CTX_set_psk_use_session_callback);
  RING_FIND(SSL_CTX_set_psk_find_session_callback);
  RING_FIND(SSL_new);
  RING_FIND(SSL_free);
  RING_FIND(SSL_set_bio);
  RING_FIND(SSL_set_ex_data);
  RING_FIND(SSL_get_ex_data);
  RING_FIND(SSL_set_connect_state);
  RING_FIND(SSL_set_accept_state);
  RING_FIND(SSL_do_handshake);
  RING_FIND(SSL_session_reused);
  RING_FIND(SSL_read_ex);
  RING_FIND(SSL_write_ex);
  RING_FIND(SSL_has_pending);
  RING_FIND(SSL_get_error);
  RING_FIND(SSL_CIPHER_find);
  RING_FIND(SSL_SESSION_new);
  RING_FIND(SSL_SESSION_free);
  RING_FIND(SSL_SESSION_set1_master_key);
  RING_FIND(SSL_SESSION_set_cipher);
  RING_FIND(SSL_SESSION_set_protocol_version);
  RING_FIND(BIO_meth_new);
  RING_FIND(BIO_meth_set_write_ex);
  RING_FIND(BIO_meth_set_read_ex);
  RING_FIND(BIO_meth_set_ctrl);
  RING_FIND(BIO_new);
  RING_FIND(BIO_set_data);
  RING_FIND(BIO_get_data);
  RING_FIND(BIO_set_init);
  RING_FIND(BIO_set_flags);
  RING_FIND(BIO_clear_flags);
  RING_FIND(ERR_get_error);
  RING_FIND(ERR_clear_error);
  RING_FIND(ERR_error_string_n);
#undef RING_FIND
  return nullptr;
}

}  // namespace

Result<OpenSsl> open_openssl(const std::string& file_name) {
  void* library = ::dlopen(file_name.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return missing(loader_error());
  OpenSsl table{};
  const char* lacking = fill(library, table);
  if (lacking != nullptr) {
    ::dlclose(library);
    return missing(file_name + " has no function " + lacking);
  }
  if (table.OpenSSL_version_num() < kOldest) {
    ::dlclose(library);
    return missing(file_name + " is older");
  }
  return table;
}

Result<const OpenSsl*> openssl() {
  static const Result<OpenSsl> loaded = [] {
    auto current = open_openssl("libssl.so.3");
    if (current) return current;
    auto older = open_openssl("libssl.so.1.1");
    return older ? older : current;
  }();
  if (!loaded) return loaded.status();
  return &loaded.value();
}

}  // namespace ring::transport::tls
