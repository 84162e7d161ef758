// SPDX-License-Identifier: Apache-2.0
#include "stream/acceptance.h"

#include <algorithm>

namespace shoal::transport::stream {
namespace {

// Peers may connect and never send anything. Beyond this many handshakes, the oldest is dropped for the newest.
constexpr size_t kHandshakesMax = 256;
// When descriptors run out, accepting pauses for this time.
constexpr auto kAcceptPause = std::chrono::milliseconds(50);

}  // namespace

Acceptance::Acceptance(std::shared_ptr<Core> core, Endpoint endpoint, LinkOptions options)
    : core_(std::move(core)),
      options_(std::move(options)),
      queue_(std::make_shared<AcceptQueue>(core_->env, std::move(endpoint), options_.connections_max)) {}

void Acceptance::start() {
  open_ = true;
  core_->remember(shared_from_this());
  accept_next();
}

void Acceptance::pause_accepting(const std::string& why) {
  core_->env.log().warning_once("accept", to_string(endpoint()) + ": cannot take new connections for now: " + why);
  pause_timer_.emplace(core_->io, kAcceptPause);
  pause_timer_->async_wait([self = shared_from_this()](const error_code& error) {
    if (!error && self->open_) self->accept_next();
  });
}

void Acceptance::begin_handshake(std::shared_ptr<Handshake> handshake) {
  if (handshakes_.size() >= kHandshakesMax) {
    handshakes_.front()->drop();
    handshakes_.pop_front();
  }
  handshakes_.push_back(handshake);
  handshake->start(options_.handshake_timeout);
}

std::shared_ptr<void> Acceptance::admit(const Endpoint& peer) {
  std::shared_ptr<void> slot = queue_->take_slot();
  if (!slot) {
    core_->env.log().warning_once("full", to_string(endpoint()) + ": refused " + to_string(peer) + ": " +
                                              std::to_string(options_.connections_max) + " connections are open already");
  }
  return slot;
}

void Acceptance::finished(Handshake& handshake, std::shared_ptr<Link> link) {
  std::erase_if(handshakes_, [&](const std::shared_ptr<Handshake>& other) { return other.get() == &handshake; });
  if (!link || !open_) return;
  link->start();
  queue_->push(make_connection(std::move(link)));
}

void Acceptance::close() {
  if (!std::exchange(open_, false)) return;
  const auto self = shared_from_this();
  close_socket();
  pause_timer_.reset();
  core_->forget(this);
  for (const auto& handshake : std::exchange(handshakes_, {})) handshake->drop();
  queue_->close();
  if (core_->open()) core_->postbox->post([queue = queue_] { queue->wake_all(); });
}

std::unique_ptr<Listener> start_listening(std::shared_ptr<Acceptance> acceptance) {
  acceptance->start();
  return std::make_unique<ListenerHandle<Acceptance>>(std::move(acceptance));
}

void Handshake::start(Duration timeout) {
  timer_.expires_after(timeout);
  timer_.async_wait([self = shared_from_this()](const error_code& failed) {
    if (!failed) self->timed_out();
  });
  begin();
}

void Handshake::drop() {
  owner_.reset();
  close_socket();
  timer_.cancel();
}

void Handshake::end(std::shared_ptr<Link> link) {
  const auto self = shared_from_this();
  const auto owner = std::exchange(owner_, {}).lock();
  drop();
  if (owner) owner->finished(*this, std::move(link));
}

}  // namespace shoal::transport::stream
