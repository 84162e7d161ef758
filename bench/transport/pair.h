// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two tasks, each with a thread and an environment of its own, and one connection between them.
#include <memory>
#include <string>
#include <thread>

#include "latencies.h"
#include "shoal/base/environment.h"
#include "shoal/transport/transport.h"

namespace shoal::bench {

struct PairOptions {
  std::string scheme;
  bool checksum = false;
  /// The credential of both tasks; without one nothing is encrypted.
  std::shared_ptr<const transport::Credential> credential;
  Duration spin = Duration::zero();  ///< The spinning of both event loops (ProductionOptions::spin).
  uint64_t send_queue_bytes_max = transport::LinkOptions().send_queue_bytes_max;
};

/// What a run of messages took.
struct Exchange {
  Latencies round_trips;  ///< Empty where nothing is answered.
  Latencies one_way;      ///< From before a message was handed to the transport until its receiver had it.
  double seconds = 0;     ///< Time of the whole run.
  double processor_seconds = 0;
  uint64_t bytes_copied = 0;  ///< Copied by both tasks: TransportStats.

  void append(const Exchange& more) {
    round_trips.append(more.round_trips);
    one_way.append(more.one_way);
    seconds += more.seconds;
    processor_seconds += more.processor_seconds;
    bytes_copied += more.bytes_copied;
  }
};

class Pair {
 public:
  /// Raises what the transport says.
  explicit Pair(const PairOptions& options);
  ~Pair();
  Pair(const Pair&) = delete;

  /// A message of `bytes` there, and one of `bytes` back, `count` times; the same two messages each time.
  Exchange round_trips(size_t bytes, int64_t count);
  /// `count` messages of `bytes` one way, each a new one of the pool. With `touch` the sender fills them and the receiver
  /// adds them up, so that every byte passes through both.
  Exchange stream(size_t bytes, int64_t count, bool touch);
  /// Buffers of messages that stream() had in use at most, so far.
  size_t buffers_made() const { return size_t(client_->buffers().stats().fresh_count); }

 private:
  enum class Mode : uint8_t { kEcho = 1, kSink = 2, kSinkAndRead = 3 };
  Task<Result<void>> serve();
  Task<Result<void>> answer(transport::Message message);
  Task<Result<void>> connect();
  Task<Result<void>> hang_up();
  Task<Result<void>> ask(size_t bytes, int64_t count, Exchange& exchange);
  Task<Result<void>> send_all(size_t bytes, int64_t count, bool touch, Exchange& exchange);
  Task<Result<void>> finish();
  template <class Make>
  Exchange measured(const Make& make);
  transport::Transport& transport_of(Environment& env) const;
  transport::LinkOptions link_options() const;
  uint64_t copied() const;

  const PairOptions options_;
  std::unique_ptr<Environment> server_, client_;
  std::unique_ptr<transport::Listener> listener_;
  std::unique_ptr<transport::Connection> accepted_, connection_;
  transport::Message reply_;      // The server's, of the size last asked for.
  std::vector<double> received_;  // When the server had each message of a run.
  std::thread thread_;
};

}  // namespace shoal::bench
