// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface that carries messages between tasks. One folder below transport/ per implementation; one conformance
/// suite (tests/transport/conformance_*_test.cc) runs over all of them.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/environment.h"
#include "shoal/transport/credential.h"
#include "shoal/transport/message.h"

namespace shoal::transport {

/// Where a peer listens: a scheme and an address that the scheme understands ("tcp", "127.0.0.1:2222").
struct Endpoint {
  std::string scheme;
  std::string address;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
std::string to_string(const Endpoint& endpoint);         ///< Such as "tcp://127.0.0.1:2222".
Result<Endpoint> parse_endpoint(std::string_view text);  ///< InvalidArgument says what is wrong.

struct LinkOptions {
  /// Largest message taken from the peer, body bytes; a larger one closes the connection (InvalidArgument) before
  /// anything is allocated. Raised by Connection::set_receive_limit once a plan is known.
  uint64_t receive_bytes_max = 64 * 1024;
  /// Bytes queued for sending above which try_send() says no and send() waits. One message may go beyond.
  uint64_t send_queue_bytes_max = uint64_t(256) << 20;
  /// A handshake that is not through by then is dropped.
  Duration handshake_timeout = std::chrono::seconds(2);
  /// How often a connection that has nothing to carry says that this side lives, at most 65 s. A peer that was silent for
  /// three of its own intervals is closed with Unavailable; bytes of a message under way count, however slow. 0, on either
  /// side: no heartbeats. The event loop sends them, so a task that computes for long is not taken for dead. inproc needs
  /// none: tasks of one process stop together.
  Duration heartbeat_interval = std::chrono::seconds(5);
  /// Payload checksums (XXH3). tcp: always beyond loopback without encryption, else when asked.
  bool checksum = false;
  /// tcp: with one every connection, on loopback too, is TLS 1.3 that only holders of the same token, or of a certificate
  /// of one's CA, can take part in (FailedPrecondition for others, and in a build without TLS). inproc and shm need none.
  std::shared_ptr<const Credential> credential;
  /// connect(), with a certificate: the task that has to be there; FailedPrecondition if another one is. (Host names prove
  /// nothing: the addresses of tasks change.)
  std::optional<PeerIdentity> expected_peer;
  /// Plain tcp beyond loopback is refused (FailedPrecondition, naming the ways out) unless this is set.
  bool insecure = false;
  int connections_max = 1024;  ///< The most connections of a listener; further peers are refused.
};

/// Copies and traffic of a transport since it was made. May be read by any thread.
struct TransportStats {
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  /// Payload bytes that this process copied in memory (not counted: the kernel's own, and encryption's).
  uint64_t bytes_copied = 0;
};

/// An ordered, reliable stream of messages to one peer. send(), receive() from the strand; try_send(), close() from any
/// thread. At most one receive() at a time.
class Connection {
 public:
  virtual ~Connection() = default;  ///< Closes the connection.
  virtual const Endpoint& peer() const = 0;
  /// Who the peer has proved to be, by its certificate; none where there are no certificates.
  virtual std::optional<PeerIdentity> identity() const = 0;
  /// When something of the peer, a heartbeat if nothing else, last arrived here; now, if it is of this process. On the
  /// strand.
  virtual SteadyTime heard() const = 0;
  /// Queues `message` (taking it) if there is credit. False: no credit, or closed; the message is left as it was.
  virtual bool try_send(Message& message) = 0;
  /// Queues `message` as soon as there is credit. DeadlineExceeded; Unavailable with the reason once closed.
  virtual Task<Result<void>> send(Message message, Deadline deadline) = 0;
  /// The next message, verified. DeadlineExceeded (the connection stays usable); the peer's or our own reason once closed
  /// and drained (Unavailable, unless close() was given another kind); DataLoss or InvalidArgument if the peer sent
  /// nonsense (which closes).
  virtual Task<Result<Message>> receive(Deadline deadline) = 0;
  /// Sends what is queued (bounded: 1 s), then `reason` to the peer, then ends; wakes all waits with it. Idempotent. The
  /// kind of `reason` travels too; Cancelled and EndOfInput, which mean something only here, become Unavailable. Called on
  /// the strand, what the medium takes at once has left before it returns; the rest leaves while the event loop turns, or
  /// when the environment ends.
  virtual void close(Error reason) = 0;
  virtual void set_receive_limit(uint64_t bytes) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;  ///< Stops listening; accepted connections live on.
  /// The address that peers can connect to (the real port when asked for port 0).
  virtual const Endpoint& endpoint() const = 0;
  virtual Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) = 0;
  virtual void close() = 0;  ///< Wakes accept() with Cancelled.
};

/// How far apart the two tasks of a connection may be, and with that what an address is.
enum class Reach : uint8_t {
  kProcess,  ///< Both are threads of one process. An address is any name.
  kMachine,  ///< Both run on one machine. An address is any name that nobody else has there.
  kNetwork,  ///< They may be anywhere. An address is "host:port".
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual Reach reach() const = 0;
  /// Whether every peer reads a payload where its sender wrote it, so that large messages cost no more than small ones.
  virtual bool shares_memory() const = 0;
  /// Unavailable naming the address if it is taken; NotFound if its host name does not resolve; FailedPrecondition for
  /// insecure addresses (LinkOptions::insecure).
  virtual Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) = 0;
  /// One attempt. Unavailable (nobody there, refused), DeadlineExceeded, FailedPrecondition (another protocol version,
  /// another token or CA, a credential on one side only, a certificate that is not good, another task than expected).
  virtual Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) = 0;
  virtual TransportStats stats() const = 0;
};

}  // namespace shoal::transport
