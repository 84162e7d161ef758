// SPDX-License-Identifier: Apache-2.0
#include "connection.h"

namespace shoal::transport::automatic {
namespace {

class AutoConnection final : public Connection {
 public:
  AutoConnection(std::unique_ptr<Connection> inner, Endpoint peer, std::optional<Message> first, std::shared_ptr<void> slot)
      : slot_(std::move(slot)), inner_(std::move(inner)), peer_(std::move(peer)), first_(std::move(first)) {}

  const Endpoint& peer() const override { return peer_; }
  std::optional<PeerIdentity> identity() const override { return inner_->identity(); }
  SteadyTime heard() const override { return inner_->heard(); }
  bool try_send(Message& message) override { return inner_->try_send(message); }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return inner_->send(std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override {
    return first_ ? hand_out(std::move(*std::exchange(first_, std::nullopt))) : inner_->receive(deadline);
  }
  void close(Error reason) override { inner_->close(std::move(reason)); }
  void set_receive_limit(uint64_t bytes) override { inner_->set_receive_limit(bytes); }

 private:
  static Task<Result<Message>> hand_out(Message message) { co_return message; }

  std::shared_ptr<void> slot_;  // Counts this connection towards the listener's connections_max; destroyed after inner_.
  std::unique_ptr<Connection> inner_;
  const Endpoint peer_;
  std::optional<Message> first_;
};

}  // namespace

std::unique_ptr<Connection> make_connection(std::unique_ptr<Connection> inner, Endpoint peer, std::optional<Message> first,
                                            std::shared_ptr<void> slot) {
  return std::make_unique<AutoConnection>(std::move(inner), std::move(peer), std::move(first), std::move(slot));
}

}  // namespace shoal::transport::automatic
