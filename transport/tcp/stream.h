// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The bytes of one socket, as they are or through TLS.
#include <span>

#include "tls.h"

namespace shoal::transport::tcp {

/// Lives on the strand, and does not block.
class Stream {
 public:
  /// Takes the bytes as they are.
  explicit Stream(Socket socket);
  /// Takes the bytes through TLS.
  Stream(Socket socket, TlsContext& tls, TlsSide side, std::optional<PeerIdentity> expected_peer = {});

  bool encrypted() const { return tls_ != nullptr; }
  /// The identity of the peer, once anything was read; none without certificates.
  std::optional<PeerIdentity> identity() const { return tls_ ? tls_->identity() : std::nullopt; }
  Socket& socket() { return socket_; }

  /// They answer as a socket does: bytes moved, or would_block, eof, another error. Through TLS one record at most is
  /// read.
  size_t read_some(std::span<const asio::mutable_buffer> into, error_code& error);
  size_t write_some(std::span<const asio::const_buffer> parts, error_code& error);
  /// Whether there are bytes taken by write_some(), and not by the socket yet: write_some(), also of nothing, goes on
  /// with them.
  bool unsent() const { return tls_ && tls_->unsent(); }
  /// There may be more to read though the socket is not readable.
  bool read_ahead() const { return tls_ && tls_->read_ahead(); }
  /// Nothing more will be written.
  void end_writing();
  void close();

  TlsFailure failure() const { return tls_ ? tls_->failure() : TlsFailure::kNone; }
  /// Goes with failure(): the library's words, or where it was about certificates a sentence.
  std::string failure_text() const { return tls_ ? tls_->failure_text() : std::string(); }
  /// `error`, which came from here, in words.
  std::string describe(const error_code& error) const;

 private:
  Socket socket_;
  std::unique_ptr<TlsSession> tls_;  // Goes before its socket does.
};

inline bool would_block(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace shoal::transport::tcp
