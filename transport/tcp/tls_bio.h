// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Connects OpenSSL to a socket. It replaces OpenSSL's own socket BIO, which makes a system call for each record and may
/// raise SIGPIPE.
#include <openssl/bio.h>

#include <memory>
#include <vector>

#include "net.h"

namespace shoal::transport::tcp {

/// Collects TLS records, so that one system call sends several of them, and keeps the socket's last errors.
class TlsPipe {
 public:
  /// A new TLS record is begun only while fewer bytes than this wait to be sent. A record that was begun may exceed this
  /// limit, so that no write by OpenSSL fails for lack of room.
  static constexpr size_t kUnsentBytesMax = 128 * 1024;

  explicit TlsPipe(int socket) : socket_(socket) {}
  TlsPipe(const TlsPipe&) = delete;
  TlsPipe& operator=(const TlsPipe&) = delete;

  bool has_room() const { return unsent_.size() < kUnsentBytesMax; }
  bool unsent() const { return sent_ < unsent_.size(); }
  size_t unsent_bytes() const { return unsent_.size() - sent_; }
  /// Sends as much as the socket takes.
  void send();
  /// The errors that ended writing and reading, if any. The error that ended reading may be eof.
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
/// Make the objects through which OpenSSL reads and writes a TlsPipe. Both return null if OpenSSL is out of memory.
std::unique_ptr<BIO_METHOD, FreeBio> make_bio_method();
std::unique_ptr<BIO, FreeBio> make_bio(const BIO_METHOD& method, TlsPipe& pipe);

}  // namespace shoal::transport::tcp
