// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What lies between OpenSSL and a socket. OpenSSL's own socket BIO writes each record by a call of its own, and may
/// raise SIGPIPE.
#include <openssl/bio.h>

#include <memory>
#include <vector>

#include "net.h"

namespace shoal::transport::tcp {

/// Records on their way to the socket, gathered for one call, and what the socket said last.
class TlsPipe {
 public:
  /// The most bytes that one call sends. Writing begins with less, so a record more fits in: a write never fails.
  static constexpr size_t kUnsentBytesMax = 128 * 1024;

  explicit TlsPipe(int socket) : socket_(socket) {}
  TlsPipe(const TlsPipe&) = delete;
  TlsPipe& operator=(const TlsPipe&) = delete;

  bool has_room() const { return unsent_.size() < kUnsentBytesMax; }
  bool unsent() const { return sent_ < unsent_.size(); }
  size_t unsent_bytes() const { return unsent_.size() - sent_; }
  /// Sends what the socket takes.
  void send();
  /// What ended either direction, if anything did; for reading that may be eof.
  const error_code& write_error() const { return write_error_; }
  const error_code& read_error() const { return read_error_; }

 private:
  friend struct TlsBioCalls;
  const int socket_;
  std::vector<char> unsent_;
  size_t sent_ = 0;
  error_code write_error_;
  error_code read_error_;
};

struct FreeBio {
  void operator()(BIO_METHOD* method) const { BIO_meth_free(method); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
/// Makes what BIOs are made of. Both are null if OpenSSL is out of memory.
std::unique_ptr<BIO_METHOD, FreeBio> make_bio_method();
std::unique_ptr<BIO, FreeBio> make_bio(const BIO_METHOD& method, TlsPipe& pipe);

}  // namespace shoal::transport::tcp
