// SPDX-License-Identifier: Apache-2.0
#include "acceptance.h"

#include <algorithm>

#include "connection.h"

namespace shoal::transport::automatic {

bool is_rendezvous(std::string_view address) {
  if (!address.starts_with(kRendezvous)) return false;
  address.remove_prefix(kRendezvous.size());
  return address.size() == kRendezvousDigits && address.find_first_not_of("0123456789abcdef") == address.npos;
}

Acceptance::Acceptance(std::shared_ptr<Postbox> postbox, LinkOptions options, std::unique_ptr<Listener> by_tcp,
                       std::unique_ptr<Listener> by_shm)
    : postbox_(std::move(postbox)),
      options_(std::move(options)),
      by_tcp_(std::move(by_tcp)),
      by_shm_(std::move(by_shm)),
      queue_(std::make_shared<AcceptQueue>(*postbox_->environment(), Endpoint{"auto", by_tcp_->endpoint().address},
                                           options_.connections_max)) {}

void Acceptance::start() {
  running_.tcp_taker = take_from_tcp();
  running_.tcp_taker.start();
  if (!by_shm_) return;
  running_.shm_taker = take_from_shm();
  running_.shm_taker.start();
}

void Acceptance::close() {
  if (!std::exchange(open_, false)) return;
  by_tcp_->close();
  if (by_shm_) by_shm_->close();
  queue_->close();
  // The coroutines that negotiate with peers are destroyed in a later turn of the loop, since one of them may be running
  // now: it may have admitted a peer and thereby resumed the code that calls close().
  const auto running = std::make_shared<Running>(std::move(running_));
  postbox_->post([self = shared_from_this(), running] { self->queue_->wake_all(); });
}

Task<void> Acceptance::take_from_tcp() {
  while (true) {
    Result<std::unique_ptr<Connection>> link = co_await by_tcp_->accept(kNoDeadline);
    if (!link) co_return;  // The listener was closed.
    std::erase_if(running_.negotiations, [](const Task<void>& one) { return one.done(); });
    running_.negotiations.push_back(negotiate(std::move(*link)));
    running_.negotiations.back().start();
  }
}

Task<void> Acceptance::take_from_shm() {
  while (true) {
    Result<std::unique_ptr<Connection>> link = co_await by_shm_->accept(kNoDeadline);
    if (!link) co_return;
    admit(std::move(*link), std::nullopt);
  }
}

Task<void> Acceptance::negotiate(std::unique_ptr<Connection> peer) {
  // A local variable is destroyed when the coroutine returns. The parameter would live, and keep the connection open, until
  // the coroutine's frame is destroyed, which may be later.
  std::unique_ptr<Connection> link = std::move(peer);
  Environment* const env = postbox_->environment();
  if (!env) co_return;
  const Deadline deadline = env->after(options_.handshake_timeout);
  Result<Message> first = co_await link->receive(deadline);
  if (!first) co_return;
  const Result<Control> asks = read_control(*first);
  if (!asks || asks->verb != kVerb) {  // The peer uses tcp, not auto.
    admit(std::move(link), std::move(*first));
    co_return;
  }
  if (queue_->full()) {
    link->close(refusal());
    co_return;
  }
  Message offer = make_control(env->buffers(), kVerb, by_shm_ ? by_shm_->endpoint().address : std::string());
  Result<void> sent = co_await link->send(std::move(offer), deadline);
  if (!sent) co_return;
  Result<Message> answer = co_await link->receive(deadline);
  if (!answer) co_return;
  const Result<Control> chosen = read_control(*answer);
  if (chosen && chosen->verb == kVerb && chosen->text == kByTcp) admit(std::move(link), std::nullopt);
}

void Acceptance::admit(std::unique_ptr<Connection> link, std::optional<Message> first) {
  if (!open_) return;
  std::shared_ptr<void> slot = queue_->take_slot();
  if (!slot) return link->close(refusal());
  link->set_receive_limit(options_.receive_bytes_max);
  Endpoint peer{endpoint().scheme, link->peer().address};
  // The task gets the connection at once, so that it can raise the receive limit before the peer's next message arrives.
  queue_->push(make_connection(std::move(link), std::move(peer), std::move(first), std::move(slot)));
}

Error Acceptance::refusal() const { return unavailable(to_string(endpoint()) + ": has reached its limit of connections"); }

}  // namespace shoal::transport::automatic
