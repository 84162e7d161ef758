// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TLS 1.3 over a non-blocking socket, by a key that both sides have already, or by certificates of one CA. Implemented by
/// tls_openssl.cc; a build without OpenSSL has tls_absent.cc in its place.
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "net.h"
#include "shoal/transport/credential.h"

namespace shoal::transport::tcp {

/// The first byte of a record, as a client's first: nothing else that this transport sends begins with it.
inline constexpr std::byte kTlsHandshakeByte{22};
/// What a listener without a credential answers to one: a record with the alert protocol_version (RFC 8446, section 6).
inline constexpr std::array<uint8_t, 7> kNoTlsHere{21, 3, 3, 0, 2, 2, 70};

/// What to do where two tasks do not prove themselves alike.
inline constexpr const char* kSameToken = "start all tasks of a job with the same token (SHOAL_TOKEN, or --token-file)";
inline constexpr const char* kSameCa = "start all tasks of a job with certificates of one CA (--tls-dir)";

enum class TlsSide : uint8_t { kClient, kServer };

/// Why a session failed, beyond what happens to any socket.
enum class TlsFailure : uint8_t {
  kNone,
  kOtherKey,   ///< The two sides do not hold the same token.
  kOtherKind,  ///< One side has a token, the other a certificate.
  kPeer,       ///< The peer's certificate is refused by this side.
  kOurs,       ///< The certificate of this side is refused by the peer.
  kNoTls,      ///< The listener has neither.
  kStranger,   ///< The peer does not speak TLS 1.3, or not as Shoal does.
  kBroken,     ///< After the handshake: bytes were changed on their way.
};

/// One connection. Reads and writes as a non-blocking socket does (bytes moved, or would_block, eof, another error), after
/// a handshake that either call carries on with; until that is through, would_block means: wait until there is something to
/// read. Of one thread.
class TlsSession {
 public:
  virtual ~TlsSession() = default;
  virtual size_t read_some(asio::mutable_buffer into, error_code& error) = 0;
  /// Takes what it has room for; that has not left yet while unsent().
  virtual size_t write_some(std::span<const asio::const_buffer> parts, error_code& error) = 0;
  /// Whether something is encrypted and waits for the socket: write_some(), also of nothing, sends it.
  virtual bool unsent() const = 0;
  /// There may be more to read than the socket knows of.
  virtual bool read_ahead() const = 0;
  /// Nothing more will be written: tells the peer.
  virtual void finish() = 0;
  /// The task that the peer's certificate names, once the handshake is through; none where a token does it.
  virtual const std::optional<PeerIdentity>& identity() const = 0;
  virtual TlsFailure failure() const = 0;
  /// The library's words for it, as "bad record mac"; for kPeer and kOurs what is wrong and what to do.
  virtual const std::string& failure_text() const = 0;
};

/// What all connections with one credential share. Of one thread; sessions keep it alive.
class TlsContext {
 public:
  virtual ~TlsContext() = default;
  /// Starts a session on a connected socket, which the caller owns and closes after the session is gone.
  /// With a certificate, a client may name the task that it expects there.
  virtual std::unique_ptr<TlsSession> start(TlsSide side, int socket, std::optional<PeerIdentity> expected_peer = {}) = 0;
};

struct TlsOptions {
  /// Records that are encrypted under one key; then both sides go on to the next. AES-GCM is sound for 2^24.5 of them
  /// (RFC 8446, section 5.5), which a long training sends.
  uint64_t records_per_key = uint64_t(1) << 22;
};
/// FailedPrecondition in a build without TLS; Internal if the library fails.
Result<std::shared_ptr<TlsContext>> make_tls_context(const Credential& credential, const TlsOptions& options = {});

}  // namespace shoal::transport::tcp
