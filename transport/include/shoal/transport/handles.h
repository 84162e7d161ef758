#pragma once
/// For those who implement a transport: the handles that a task holds, over objects that live on with the event loop.
#include <memory>
#include <utility>

#include "shoal/transport/channel.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// A connection as its task sees it. `Link` has the two channels and the waits for them. The destructor closes.
template <class Link>
class LinkConnection final : public Connection {
 public:
  explicit LinkConnection(std::shared_ptr<Link> link)
      : link_(std::move(link)), outgoing_(link_->outgoing()), incoming_(link_->incoming()) {}
  ~LinkConnection() override { link_->close(unavailable(*link_->name() + ": the connection was closed")); }

  const Endpoint& peer() const override { return link_->peer(); }
  std::optional<PeerIdentity> identity() const override { return link_->identity(); }
  SteadyTime heard() const override { return link_->heard(); }
  bool try_send(Message& message) override { return outgoing_->push(message) == Channel::Push::kDone; }
  Task<Result<void>> send(Message message, Deadline deadline) override {
    return send_through(outgoing_, link_->senders(), link_->name(), std::move(message), deadline);
  }
  Task<Result<Message>> receive(Deadline deadline) override {
    return receive_through(incoming_, link_->receiver(), link_->name(), deadline);
  }
  void close(Error reason) override { link_->close(std::move(reason)); }
  void set_receive_limit(uint64_t bytes) override { link_->set_receive_limit(bytes); }

 private:
  std::shared_ptr<Link> link_;
  std::shared_ptr<Channel> outgoing_;
  std::shared_ptr<Channel> incoming_;
};

template <class Link>
std::unique_ptr<Connection> make_connection(std::shared_ptr<Link> link) {
  return std::make_unique<LinkConnection<Link>>(std::move(link));
}

/// A listener as its task sees it.
template <class Acceptance>
class AcceptanceListener final : public Listener {
 public:
  explicit AcceptanceListener(std::shared_ptr<Acceptance> acceptance) : acceptance_(std::move(acceptance)) {}
  ~AcceptanceListener() override { acceptance_->close(); }
  const Endpoint& endpoint() const override { return acceptance_->endpoint(); }
  Task<Result<std::unique_ptr<Connection>>> accept(Deadline deadline) override { return acceptance_->accept(deadline); }
  void close() override { acceptance_->close(); }

 private:
  std::shared_ptr<Acceptance> acceptance_;
};

/// Transport::connect() by an attempt that was not started yet.
template <class Attempt>
Task<Result<std::unique_ptr<Connection>>> connect_by(std::shared_ptr<Attempt> attempt, Endpoint to, Deadline deadline) {
  // An attempt whose coroutine is destroyed while it waits must let go of its socket.
  struct CancelOnExit {
    Attempt& attempt;
    explicit CancelOnExit(Attempt& what) : attempt(what) {}
    ~CancelOnExit() { attempt.cancel(); }
    CancelOnExit(const CancelOnExit&) = delete;
    CancelOnExit& operator=(const CancelOnExit&) = delete;
  };
  CancelOnExit guard(*attempt);
  attempt->start();
  while (!attempt->done()) {
    auto wait = attempt->waits()->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline && !attempt->done()) {
      co_return deadline_exceeded(to_string(to) + ": not connected in time");
    }
  }
  auto link = attempt->take();
  if (!link) co_return std::move(link).error();
  co_return make_connection(std::move(*link));
}

}  // namespace shoal::transport
