// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The byte stream of one socket, plain or through TLS.
#include <span>

#include "tls.h"

namespace shoal::transport::tcp {

/// Used on the strand. Never blocks.
class Stream {
 public:
  /// A stream without TLS.
  explicit Stream(Socket socket);
  /// A stream through TLS.
  Stream(Socket socket, TlsContext& tls, TlsSide side, std::optional<PeerIdentity> expected_peer = {});

  bool encrypted() const { return tls_ != nullptr; }
  /// The identity of the peer, once something was read; nothing without certificates.
  std::optional<PeerIdentity> identity() const { return tls_ ? tls_->identity() : std::nullopt; }
  Socket& socket() { return socket_; }

  /// read_some() and write_some() return what a socket's calls return: the number of bytes moved, or would_block, eof or
  /// another error. Through TLS, at most one record is read.
  size_t read_some(std::span<const asio::mutable_buffer> into, error_code& error);
  size_t write_some(std::span<const asio::const_buffer> parts, error_code& error);
  /// Whether write_some() has taken bytes that the socket has not. Call write_some() again, even with no bytes, to send
  /// them.
  bool unsent() const { return tls_ && tls_->unsent(); }
  /// Whether there may be more to read even if the socket is not readable.
  bool read_ahead() const { return tls_ && tls_->read_ahead(); }
  /// Tells the peer that this side writes no more.
  void end_writing();
  void close();

  TlsFailure failure() const { return tls_ ? tls_->failure() : TlsFailure::kNone; }
  /// Explains failure(): OpenSSL's error text, or a sentence of Shoal's own if a certificate was refused.
  std::string failure_text() const { return tls_ ? tls_->failure_text() : std::string(); }
  /// An `error` from this stream, in words.
  std::string describe(const error_code& error) const;

 private:
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // Declared after socket_, which it uses, so that it is destroyed first.
};

inline bool would_block(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace shoal::transport::tcp
