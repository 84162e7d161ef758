// SPDX-License-Identifier: Apache-2.0
#include "raw_tls.h"

#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <thread>

#include "shoal/base/check.h"
#include "sockets.h"

namespace shoal::bench {
namespace {

constexpr char kIdentity[] = "bench";
constexpr unsigned char kKey[32] = {1};
constexpr size_t kBytesPerCall = size_t(1) << 30;

unsigned client_key(SSL*, const char*, char* identity, unsigned identity_max, unsigned char* key, unsigned key_max) {
  SHOAL_CHECK(identity_max >= sizeof kIdentity && key_max >= sizeof kKey);
  std::memcpy(identity, kIdentity, sizeof kIdentity);
  std::memcpy(key, kKey, sizeof kKey);
  return sizeof kKey;
}

unsigned server_key(SSL*, const char*, unsigned char* key, unsigned key_max) {
  SHOAL_CHECK(key_max >= sizeof kKey);
  std::memcpy(key, kKey, sizeof kKey);
  return sizeof kKey;
}

struct Free {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* ssl) const { SSL_free(ssl); }
};

/// Reads and writes as a SocketPair does.
class TlsPair {
 public:
  TlsPair() : context_(SSL_CTX_new(TLS_method())) {
    SHOAL_CHECK(context_ && SSL_CTX_set_min_proto_version(context_.get(), TLS1_3_VERSION) == 1);
    SHOAL_CHECK(SSL_CTX_set_ciphersuites(context_.get(), "TLS_AES_128_GCM_SHA256") == 1);
    SSL_CTX_set_psk_client_callback(context_.get(), &client_key);
    SSL_CTX_set_psk_server_callback(context_.get(), &server_key);
    SSL_CTX_set_num_tickets(context_.get(), 0);
    for (int end = 0; end < 2; ++end) {
      ends_[end].reset(SSL_new(context_.get()));
      SHOAL_CHECK(ends_[end] && SSL_set_fd(ends_[end].get(), sockets_.descriptor(end)) == 1);
    }
    std::thread server([this] { SHOAL_CHECK(SSL_accept(ends_[1].get()) == 1); });
    SHOAL_CHECK(SSL_connect(ends_[0].get()) == 1);
    server.join();
  }

  void write(int end, const std::byte* data, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
      const int written = SSL_write(ends_[end].get(), data + at, int(std::min(bytes - at, kBytesPerCall)));
      SHOAL_CHECK(written > 0);
      at += size_t(written);
    }
  }
  void read(int end, std::byte* data, size_t bytes) {
    for (size_t at = 0; at < bytes;) {
      const int count = SSL_read(ends_[end].get(), data + at, int(std::min(bytes - at, kBytesPerCall)));
      SHOAL_CHECK(count > 0);
      at += size_t(count);
    }
  }

 private:
  SocketPair sockets_;
  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> ends_[2];
};

}  // namespace

bool has_tls() { return true; }

Exchange tls_round_trips(size_t bytes, int64_t count) { return round_trips_over(TlsPair(), bytes, count); }

Exchange tls_stream(size_t bytes, int64_t count, bool touch) { return stream_over(TlsPair(), bytes, count, touch); }

}  // namespace shoal::bench
