// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A trainer's connection to one server: connects with back-off, says hello, and has one request open at a time. An
/// answer may consist of several messages, of which all but the first may be "late": they arrive before the answer to
/// the next request or, if the server's queue was full, after that answer.
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
  /// Asks the server to send weights in the encoding `weights`.
  ServerLink(Environment& env, const TaskIdentity& identity, transport::Endpoint server, transport::LinkOptions options,
             transport::Encoding weights)
      : env_(env), identity_(identity), server_(std::move(server)), options_(std::move(options)), weights_(weights) {}

  /// Tries until the server has welcomed this trainer; a broken connection is no error. DeadlineExceeded names the server.
  /// FailedPrecondition if the server refuses this trainer. Unavailable if another chief leads the server. Cancelled on an
  /// interrupt, or if the job has ended: either the server says so, or `give_up` (called through offload() between
  /// attempts) returns true.
  Task<Result<void>> connect(Deadline deadline, std::function<bool()> give_up);
  bool connected() const { return connection_ != nullptr; }
  const Welcome& welcome() const { return welcome_; }
  /// True if the server's newest message says that it was asked to end, and waits for a checkpoint (kStatusLeaveBit).
  bool asks_to_save() const { return connected() && asks_to_save_; }
  /// How the job ended; empty until the server says so.
  const std::optional<JobEnd>& job_end() const { return job_end_; }
  /// The incarnation of the server's process. A different one after a reconnection means that the server was restarted,
  /// and its state is lost.
  uint64_t server_incarnation() const { return server_incarnation_; }
  const transport::Endpoint& server() const { return server_; }
  /// When this trainer last sent a message to the server, over any connection.
  SteadyTime sent_at() const { return sent_at_; }
  void set_receive_limit(uint64_t bytes);
  /// From the next connection on, asks the server to send weights in this encoding.
  void ask_for(transport::Encoding weights) { weights_ = weights; }
  void close(Error reason);
  /// Ends all waits on this connection with `reason`. Nothing can be sent or received afterwards: call
  /// close() when the last wait has returned.
  void end_waits(Error reason) {
    if (connection_) connection_->close(std::move(reason));
  }

  /// A new sequence number, for the next request. A push that is sent again keeps its first number.
  uint64_t next_sequence() { return ++sequence_; }
  /// Sends `message`, whose head.sequence is set. Unavailable once the connection is lost (call connect() again);
  /// Cancelled if the server's last message said that the job has ended.
  Task<Result<void>> send(transport::Message message, uint64_t epoch, Deadline deadline);
  Task<Result<transport::Message>> receive(uint64_t reply_to, Deadline deadline) {
    return receive_unless(nullptr, reply_to, deadline);
  }
  /// Like receive(), for an answer that may depend on other trainers: Cancelled at most a second after `over` returns
  /// true; the connection stays open.
  Task<Result<transport::Message>> receive_unless(std::function<bool()> over, uint64_t reply_to, Deadline deadline);
  Task<Result<transport::Message>> request(transport::Message message, uint64_t epoch, Deadline deadline);

  using Taker = std::function<Result<void>(transport::Message)>;
  /// Announces that the answer to `request` has `count` more messages (the late ones), each of which may take `patience`.
  /// Until the connection ends, `take` is called with each late message, even if it arrives while the answer to another
  /// request is received. If `take` fails, the receiving call returns its error, and later messages are not passed to
  /// `take`.
  void expect_late(uint64_t request, size_t count, Duration patience, Taker take) {
    late_ = Late{request, count, patience, std::move(take)};
  }
  void forget_late() { late_.reset(); }
  bool expects_late() const { return late_.has_value(); }
  /// Receives all messages that expect_late() has announced. Errors as for receive_unless().
  Task<Result<void>> receive_late(std::function<bool()> over);
  /// Receives, without waiting, those messages announced by expect_late() that have arrived already.
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
  bool final_ = false;      ///< True if the last answer was an error that further attempts cannot change.
  bool job_ended_ = false;  ///< True once the server has left because the job has ended.
};

}  // namespace shoal::cluster
