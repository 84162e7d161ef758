// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface that carries messages between tasks. Each implementation is a folder below transport/, and one conformance
/// suite (tests/transport/conformance_*_test.cc) tests all of them.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/environment.h"
#include "shoal/transport/credential.h"
#include "shoal/transport/message.h"

namespace shoal::transport {

/// The place where a peer listens: a scheme, and an address in the form of that scheme ("tcp", "127.0.0.1:2222").
struct Endpoint {
  std::string scheme;
  std::string address;
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};
std::string to_string(const Endpoint& endpoint);         ///< Returns "tcp://127.0.0.1:2222".
Result<Endpoint> parse_endpoint(std::string_view text);  ///< InvalidArgument describes the mistake.

struct LinkOptions {
  /// The largest message accepted from the peer, in bytes of its body. A larger one closes the connection (InvalidArgument)
  /// before memory is allocated. Connection::set_receive_limit raises the limit once the sizes of messages are known.
  uint64_t receive_bytes_max = 64 * 1024;
  /// The number of queued bytes above which try_send() returns false and send() waits. One message may exceed it.
  uint64_t send_queue_bytes_max = uint64_t(256) << 20;
  /// A handshake that takes longer is dropped.
  Duration handshake_timeout = std::chrono::seconds(2);
  /// How often a connection without other traffic sends a heartbeat, at most 65 s. A peer that is silent for three of its
  /// own intervals is closed with Unavailable; bytes of an unfinished message count as a sign of life, however slow. 0 on
  /// either side: no heartbeats. The event loop sends them, so a task that computes for long does not seem dead. inproc
  /// needs none, since tasks of one process stop together.
  Duration heartbeat_interval = std::chrono::seconds(5);
  /// Payload checksums (XXH3) in tcp. Unencrypted connections beyond loopback always have them, others only if this is set.
  bool checksum = false;
  /// tcp: if set, every connection, on loopback too, uses TLS 1.3. The two sides must have the same token, or
  /// certificates of the same CA (FailedPrecondition otherwise, and in a build without TLS). inproc and shm do not need
  /// it.
  std::shared_ptr<const Credential> credential;
  /// For connect() with a certificate: the task that has to answer; FailedPrecondition if another one does. (Host names
  /// prove nothing, since the addresses of tasks change.)
  std::optional<PeerIdentity> expected_peer;
  /// False: tcp without encryption is refused unless the address is loopback. The error (FailedPrecondition) says what the
  /// user can do instead.
  bool insecure = false;
  int connections_max = 1024;  ///< The largest number of connections of a listener; further peers are refused.
};

/// Counts of a transport since it was made. Any thread may read them.
struct TransportStats {
  uint64_t messages_sent = 0;
  uint64_t messages_received = 0;
  uint64_t bytes_sent = 0;
  uint64_t bytes_received = 0;
  /// Payload bytes that this process copied in memory (without copies by the kernel and by encryption).
  uint64_t bytes_copied = 0;
};

/// An ordered, reliable stream of messages to one peer. Call send() and receive() on the strand, try_send() and close() on
/// any thread. At most one receive() at a time.
class Connection {
 public:
  virtual ~Connection() = default;  ///< Closes the connection.
  virtual const Endpoint& peer() const = 0;
  /// The task that the peer's certificate proves; nothing if certificates are not used.
  virtual std::optional<PeerIdentity> identity() const = 0;
  /// When something last arrived from the peer, even a heartbeat; the present time for a peer in this process. Strand
  /// only.
  virtual SteadyTime heard() const = 0;
  /// Queues and takes `message` if there is credit (room in the send queue). False, with `message` unchanged, if there is
  /// no credit or the connection is closed.
  virtual bool try_send(Message& message) = 0;
  /// Queues `message` as soon as the send queue has room. DeadlineExceeded: there was no room in time. Once the connection
  /// is closed, returns the reason, as receive() does.
  virtual Task<Result<void>> send(Message message, Deadline deadline) = 0;
  /// Returns the next message, verified. DeadlineExceeded: none came in time; the connection stays usable. Once the
  /// connection is closed and no message is left, returns the reason that the peer or this side gave (Unavailable, unless
  /// close() got another kind). DataLoss or InvalidArgument: the peer sent an invalid message; this closes the connection.
  virtual Task<Result<Message>> receive(Deadline deadline) = 0;
  /// Sends the queued messages (for at most 1 s), then `reason` to the peer, and ends the connection. Calls of send()
  /// and receive() that still wait return `reason`. Further calls of close() have no effect. The peer gets the kind of
  /// `reason`, too, but Unavailable instead of Cancelled, DeadlineExceeded and EndOfInput. A call on the strand sends
  /// at once all bytes for which the socket or the shared memory has room. The other bytes are sent while the event
  /// loop runs, or when the environment ends.
  virtual void close(Error reason) = 0;
  virtual void set_receive_limit(uint64_t bytes) = 0;
};

class Listener {
 public:
  virtual ~Listener() = default;  ///< Stops listening. Accepted connections stay open.
  /// The address that peers can connect to (with the actual port if port 0 was asked for).
  virtual const Endpoint& endpoint() const = 0;
  virtual Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) = 0;
  virtual void close() = 0;  ///< Wakes accept() with Cancelled.
};

/// How far apart the two tasks of a connection may run, which decides what form an address has.
enum class Reach : uint8_t {
  kProcess,  ///< Both tasks are threads of one process. An address is any name.
  kMachine,  ///< Both tasks run on one machine. An address is any name that is unique there.
  kNetwork,  ///< Both tasks may run anywhere. An address is "host:port".
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual Reach reach() const = 0;
  /// Whether every peer reads a payload where its sender wrote it, so that large messages cost no more than small ones.
  virtual bool shares_memory() const = 0;
  /// Unavailable, with the address, if it is in use; NotFound if its host name does not resolve; FailedPrecondition for
  /// insecure addresses (LinkOptions::insecure).
  virtual Result<std::unique_ptr<Listener>> listen(Endpoint at, LinkOptions options) = 0;
  /// Tries once to connect. Unavailable (nobody listens, refused), DeadlineExceeded, FailedPrecondition (another protocol
  /// version, another token or CA, a credential on one side only, an invalid certificate, another task than expected).
  virtual Task<Result<std::unique_ptr<Connection>>> connect(Endpoint to, LinkOptions options, Deadline deadline) = 0;
  virtual TransportStats stats() const = 0;
};

}  // namespace shoal::transport
