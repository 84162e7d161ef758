// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's line to one server: connects with back-off, says hello, and carries one request at a time. Messages of an
/// answer may be late, and come before the answer to the next request or, from a full queue, around it.
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/cluster/identity.h"
#include "shoal/cluster/protocol.h"
#include "shoal/transport/transport.h"

namespace shoal::cluster {

class ServerLink {
 public:
  /// `weights` says in which encoding the server shall send them.
  ServerLink(Environment& env, const TaskIdentity& identity, transport::Endpoint server, transport::LinkOptions options,
             transport::Encoding weights)
      : env_(env), identity_(identity), server_(std::move(server)), options_(std::move(options)), weights_(weights) {}

  /// Tries until it is connected and welcomed. DeadlineExceeded naming the server; FailedPrecondition if it refuses us;
  /// Unavailable if another chief leads it, which is as final (a lost connection is met again, so no other Unavailable
  /// comes); Cancelled if the job has ended (the server said so, or `give_up`, called through offload between attempts,
  /// does), or on an interrupt.
  Task<Result<void>> connect(Deadline deadline, std::function<bool()> give_up);
  bool connected() const { return connection_ != nullptr; }
  const Welcome& welcome() const { return welcome_; }
  /// Whether the server has said last that it gives way, and waits for a checkpoint (kStatusLeaveBit).
  bool asks_to_save() const { return connected() && asks_to_save_; }
  /// How the job ended, once the server said that it has.
  const std::optional<JobEnd>& job_end() const { return job_end_; }
  /// The incarnation of the server's process. If it is another one after a reconnection, the server was restarted, and
  /// what it held is gone.
  uint64_t server_incarnation() const { return server_incarnation_; }
  const transport::Endpoint& server() const { return server_; }
  /// When this trainer last sent something to the server, over any connection.
  SteadyTime sent_at() const { return sent_at_; }
  void set_receive_limit(uint64_t bytes);
  /// Says in which encoding the server shall send weights, from the next connection on.
  void ask_for(transport::Encoding weights) { weights_ = weights; }
  void close(Error reason);
  /// Whoever waits for an answer gets `reason`, and the connection is of no more use: close() it once nobody waits.
  void end_waits(Error reason) {
    if (connection_) connection_->close(std::move(reason));
  }

  /// A fresh number for the next request. Retries of one push reuse its number.
  uint64_t next_sequence() { return ++sequence_; }
  /// Sends `message`, whose head.sequence is set; kind Error replies become the error they carry. Unavailable once the
  /// connection is lost (connect() again); Cancelled if the server's last word was that the job has ended.
  Task<Result<void>> send(transport::Message message, uint64_t epoch, Deadline deadline);
  Task<Result<transport::Message>> receive(uint64_t reply_to, Deadline deadline) {
    return receive_unless(nullptr, reply_to, deadline);
  }
  /// The same for an answer that may have to wait for others: Cancelled a second after it is `over` at the latest, with
  /// the connection as it is.
  Task<Result<transport::Message>> receive_unless(std::function<bool()> over, uint64_t reply_to, Deadline deadline);
  Task<Result<transport::Message>> request(transport::Message message, uint64_t epoch, Deadline deadline);

  using Taker = std::function<Result<void>(transport::Message)>;
  /// The answer to `request` has `count` more messages ("late" ones), each of which may take `patience`: `take` gets
  /// them, whatever is received for meanwhile, until the connection ends. Its errors are those of who receives, and end it.
  void expect_late(uint64_t request, size_t count, Duration patience, Taker take) {
    late_ = Late{request, count, patience, std::move(take)};
  }
  void forget_late() { late_.reset(); }
  bool expects_late() const { return late_.has_value(); }
  /// Receives all that is late. Errors as those of receive_unless().
  Task<Result<void>> receive_late(std::function<bool()> over);
  /// The same, but waits for nothing.
  Task<Result<void>> receive_late_so_far();

 private:
  struct Late {
    uint64_t request;
    size_t count;
    Duration patience;
    Taker take;
  };
  Task<Result<void>> attempt(Deadline deadline);
  Task<Result<void>> introduce(Deadline deadline);
  Duration hello_patience() const;
  bool may_retry(const Error& error) const;
  Task<Error> lost(Error error);
  Task<Result<transport::Message>> receive_next(std::function<bool()> over, Deadline deadline);
  bool is_late(const transport::Message& message) const { return late_ && message.head.reply_to == late_->request; }
  Result<void> take_late(transport::Message message);
  void note_end(const transport::Message& message);
  bool is_last_word(const transport::Message& message);

  Environment& env_;
  const TaskIdentity& identity_;
  transport::Endpoint server_;
  transport::LinkOptions options_;
  transport::Encoding weights_;
  uint64_t receive_limit_ = uint64_t(64) << 20;
  std::unique_ptr<transport::Connection> connection_;
  Welcome welcome_;
  uint64_t server_incarnation_ = 0;
  uint64_t sequence_ = 0;
  SteadyTime sent_at_{};
  std::optional<Late> late_;
  std::optional<JobEnd> job_end_;
  bool asks_to_save_ = false;
  bool final_ = false;      ///< True if the last answer was an error that trying again would not change.
  bool job_ended_ = false;  ///< True once the server has left with these words: there is nothing to connect to.
};

}  // namespace shoal::cluster
