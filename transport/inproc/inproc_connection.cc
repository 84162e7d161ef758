// SPDX-License-Identifier: Apache-2.0
#include "inproc_connection.h"

namespace shoal::transport::inproc {

Pipe::Pipe(Side connecting, Side accepting)
    : sides_{std::move(connecting), std::move(accepting)}, channels_{make_channel(0), make_channel(1)} {}

Channel Pipe::make_channel(int from) {
  const int to = 1 - from;
  return Channel(
      side(from).options.send_queue_bytes_max,
      [this, to] {
        side(to).postbox->post([pipe = shared_from_this(), to] {
          if (auto& receiver = pipe->side(to).receiver) receiver->wake_first();
        });
      },
      [this, from] {
        side(from).postbox->post([pipe = shared_from_this(), from] {
          if (auto& senders = pipe->side(from).senders) release_senders(*pipe->outgoing(from), *senders);
        });
      });
}

void Pipe::close(int closer, const Error& reason) {
  // Closes first the channel by which the other side sends. So once the other side learns the reason, it cannot send any
  // more.
  for (const int from : {1 - closer, closer}) channels_[size_t(from)].close(reason);
}

namespace {

class InprocConnection final : public Connection {
 public:
  InprocConnection(std::shared_ptr<Pipe> pipe, int index, std::shared_ptr<void> slot)
      : pipe_(std::move(pipe)),
        index_(index),
        slot_(std::move(slot)),
        outgoing_(pipe_->outgoing(index)),
        incoming_(pipe_->incoming(index)),
        receive_bytes_max_(std::make_shared<std::atomic<uint64_t>>(side().options.receive_bytes_max)) {
    Environment* env = side().postbox->environment();
    SHOAL_CHECK(env);
    side().receiver = std::make_shared<WaitQueue>(*env);
    side().senders = std::make_shared<WaitQueue>(*env);
  }

  ~InprocConnection() override {
    pipe_->close(index_, unavailable(*side().name + ": the connection was closed"));
    if (!side().postbox->environment()) return;
    side().receiver->stop();
    side().senders->stop();
  }

  const Endpoint& peer() const override { return pipe_->side(index_).peer; }
  std::optional<PeerIdentity> identity() const override { return std::nullopt; }
  SteadyTime heard() const override {
    const Environment* const env = pipe_->side(index_).postbox->environment();
    return env ? env->now() : SteadyTime();
  }

  bool try_send(Message& message) override {
    const uint64_t bytes = message.body_bytes();
    if (outgoing_->push(message) != Channel::Push::kDone) return false;
    count_sent(*side().counters, bytes);
    return true;
  }

  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_on(pipe_, index_, std::move(message), deadline);
  }

  Task<Result<Message>> receive(Deadline deadline) override {
    return receive_on(pipe_, index_, receive_bytes_max_, deadline);
  }

  void close(Error reason) override { pipe_->close(index_, closing_reason(std::move(reason))); }

  void set_receive_limit(uint64_t bytes) override { receive_bytes_max_->store(bytes, std::memory_order_relaxed); }

 private:
  Side& side() { return pipe_->side(index_); }

  static void count_sent(Counters& counters, uint64_t bytes) {
    counters.messages_sent.fetch_add(1, std::memory_order_relaxed);
    counters.bytes_sent.fetch_add(bytes, std::memory_order_relaxed);
  }

  // Static, with parameters by value: the connection may be destroyed while these coroutines wait.
  static Task<Result<void>> send_on(std::shared_ptr<Pipe> pipe, int index, Message message, Deadline deadline) {
    const uint64_t bytes = message.body_bytes();
    Side& side = pipe->side(index);
    auto sending = send_through(pipe->outgoing(index), side.senders, side.name, std::move(message), deadline);
    Result<void> sent = co_await std::move(sending);
    if (sent) count_sent(*side.counters, bytes);
    co_return sent;
  }

  static Task<Result<Message>> receive_on(std::shared_ptr<Pipe> pipe, int index,
                                          std::shared_ptr<std::atomic<uint64_t>> bytes_max, Deadline deadline) {
    Side& side = pipe->side(index);
    auto receiving = receive_through(pipe->incoming(index), side.receiver, side.name, deadline);
    Result<Message> received = co_await std::move(receiving);
    if (!received) co_return received;
    Result<void> checked = check(*received, *side.name, bytes_max->load(std::memory_order_relaxed));
    if (!checked) {
      pipe->close(index, checked.error());
      pipe->incoming(index)->discard();
      co_return std::move(checked).error();
    }
    side.counters->messages_received.fetch_add(1, std::memory_order_relaxed);
    side.counters->bytes_received.fetch_add(received->body_bytes(), std::memory_order_relaxed);
    co_return received;
  }

  static Result<void> check(const Message& message, const std::string& peer, uint64_t bytes_max) {
    if (message.body_bytes() > bytes_max)
      return invalid_argument(peer + ": sent a message of " + std::to_string(message.body_bytes()) +
                              " bytes, but at most " + std::to_string(bytes_max) + " bytes are accepted");
    Result<void> verified = verify(message);
    if (!verified) return std::move(verified).error().with_context(peer);
    return {};
  }

  std::shared_ptr<Pipe> pipe_;
  const int index_;
  std::shared_ptr<void> slot_;
  std::shared_ptr<Channel> outgoing_;
  std::shared_ptr<Channel> incoming_;
  std::shared_ptr<std::atomic<uint64_t>> receive_bytes_max_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(std::shared_ptr<Pipe> pipe, int index, std::shared_ptr<void> slot) {
  return std::make_unique<InprocConnection>(std::move(pipe), index, std::move(slot));
}

}  // namespace shoal::transport::inproc
