#include "host.h"

#include <algorithm>

#include "connection.h"

namespace shoal::transport::automatic {

bool is_meeting_place(std::string_view address) {
  if (!address.starts_with(kMeetingPlace)) return false;
  address.remove_prefix(kMeetingPlace.size());
  return address.size() == kMeetingPlaceDigits && address.find_first_not_of("0123456789abcdef") == address.npos;
}

Host::Host(std::shared_ptr<Postbox> postbox, LinkOptions options, std::unique_ptr<Listener> by_tcp,
           std::unique_ptr<Listener> by_shm)
    : postbox_(std::move(postbox)),
      options_(std::move(options)),
      endpoint_{"auto", by_tcp->endpoint().address},
      by_tcp_(std::move(by_tcp)),
      by_shm_(std::move(by_shm)),
      waits_(std::make_shared<WaitQueue>(*postbox_->environment())) {}

void Host::start() {
  running_.tcp_taker = take_from_tcp();
  running_.tcp_taker.start();
  if (!by_shm_) return;
  running_.shm_taker = take_from_shm();
  running_.shm_taker.start();
}

void Host::close() {
  if (!std::exchange(open_, false)) return;
  by_tcp_->close();
  if (by_shm_) by_shm_->close();
  for (const auto& link : std::exchange(ready_, {})) link->close(unavailable(to_string(endpoint_) + ": stopped listening"));
  waits_->stop();
  // Later: one of them may be who let in the peer whose acceptance led here.
  const auto running = std::make_shared<Running>(std::move(running_));
  postbox_->post([self = shared_from_this(), running] { self->waits_->wake_all(); });
}

Task<void> Host::take_from_tcp() {
  while (true) {
    Result<std::unique_ptr<Connection>> link = co_await by_tcp_->accept(kNoDeadline);
    if (!link) co_return;  // nobody listens any more
    std::erase_if(running_.welcomes, [](const Task<void>& one) { return one.done(); });
    running_.welcomes.push_back(welcome(std::move(*link)));
    running_.welcomes.back().start();
  }
}

Task<void> Host::take_from_shm() {
  while (true) {
    Result<std::unique_ptr<Connection>> link = co_await by_shm_->accept(kNoDeadline);
    if (!link) co_return;
    let_in(std::move(*link), std::nullopt);
  }
}

Task<void> Host::welcome(std::unique_ptr<Connection> guest) {
  std::unique_ptr<Connection> link = std::move(guest);  // parameters live as long as the frame, which nobody misses at once
  Environment* const env = postbox_->environment();
  if (!env) co_return;
  const Deadline deadline = env->after(options_.handshake_timeout);
  Result<Message> first = co_await link->receive(deadline);
  if (!first) co_return;
  const Result<Control> asks = read_control(*first);
  if (!asks || asks->verb != kVerb) {  // a peer that was told to use tcp
    let_in(std::move(link), std::move(*first));
    co_return;
  }
  if (full()) {
    link->close(refusal());
    co_return;
  }
  Message offer = make_control(env->buffers(), kVerb, by_shm_ ? by_shm_->endpoint().address : std::string());
  Result<void> sent = co_await link->send(std::move(offer), deadline);
  if (!sent) co_return;
  Result<Message> answer = co_await link->receive(deadline);
  if (!answer) co_return;
  const Result<Control> chosen = read_control(*answer);
  if (chosen && chosen->verb == kVerb && chosen->text == kByTcp) let_in(std::move(link), std::nullopt);
}

void Host::let_in(std::unique_ptr<Connection> link, std::optional<Message> first) {
  if (!open_) return;
  std::shared_ptr<void> slot = take_slot();
  if (!slot) return link->close(refusal());
  link->set_receive_limit(options_.receive_bytes_max);
  Endpoint peer{endpoint_.scheme, link->peer().address};
  ready_.push_back(make_connection(std::move(link), std::move(peer), std::move(first), std::move(slot)));
  waits_->wake_first();  // at once: before the peer's next message, whose size the task may want to allow
}

std::shared_ptr<void> Host::take_slot() {
  if (full()) return nullptr;
  ++*slots_taken_;
  return {slots_taken_.get(), [taken = slots_taken_](void*) { --*taken; }};
}

Error Host::refusal() const { return unavailable(to_string(endpoint_) + ": has as many connections as it takes"); }

// Static and by value: the listener may be destroyed while it waits.
Task<Result<std::unique_ptr<Connection>>> Host::accept_on(std::shared_ptr<Host> self, Deadline deadline) {
  while (true) {
    if (!self->open_) co_return cancelled();
    if (!self->ready_.empty()) {
      std::unique_ptr<Connection> link = std::move(self->ready_.front());
      self->ready_.pop_front();
      co_return link;
    }
    auto wait = self->waits_->wait(deadline);
    const WaitEnd end = co_await wait;
    if (end == WaitEnd::kCancelled) co_return cancelled();
    if (end == WaitEnd::kDeadline) co_return deadline_exceeded(to_string(self->endpoint_) + ": nobody connected in time");
  }
}

}  // namespace shoal::transport::automatic
