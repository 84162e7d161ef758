#include "virtual_world.h"

#include <algorithm>

#include "guarded.h"
#include "virtual_environment.h"

namespace shoal {

VirtualWaiter::VirtualWaiter(VirtualEnvironment& env) : env_(&env) { env.waiters_.push_back(this); }

VirtualWaiter::~VirtualWaiter() {
  if (!env_) return;
  if (queued_) env_->world_.queue.erase(key_);
  std::erase(env_->waiters_, this);
}

void VirtualWaiter::resume_at(SteadyTime when) {
  if (!env_) return;
  if (std::exchange(queued_, false)) env_->world_.queue.erase(key_);
  if (when == Deadline::max()) return;
  key_ = env_->world_.add(when, {env_, Work(), this});
  queued_ = true;
}

VirtualWorld::State::Key VirtualWorld::State::add(SteadyTime when, Happening happening) {
  const Key key{when, next_number++};
  queue.emplace(key, std::move(happening));
  return key;
}

bool VirtualWorld::State::step(SteadyTime until) {
  if (queue.empty() || queue.begin()->first.first > until) return false;
  auto next = queue.extract(queue.begin());
  now = std::max(now, next.key().first);
  Happening& happening = next.mapped();
  VirtualEnvironment* const before = std::exchange(current, happening.env);
  if (VirtualWaiter* waiter = happening.waiter) {
    waiter->queued_ = false;
    waiter->handle_.resume();
  } else {
    run_guarded(happening.work, "posted work");
  }
  current = before;
  return true;
}

VirtualWorld::VirtualWorld(uint64_t seed) : state_(std::make_shared<State>(seed)) {}

VirtualWorld::~VirtualWorld() {
  // Transports first: one task's may still speak to another's.
  for (auto& env : state_->environments) env->end_transports();
  std::exchange(state_->queue, {});
}

Environment& VirtualWorld::add_task(TaskOptions options) {
  auto& environments = state_->environments;
  environments.push_back(std::make_unique<VirtualEnvironment>(*state_, std::move(options), environments.size()));
  return *environments.back();
}

void VirtualWorld::kill(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).kill(); }
void VirtualWorld::interrupt(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).interrupt(); }

SteadyTime VirtualWorld::now() const { return state_->now; }

bool VirtualWorld::run_until(SteadyTime until) {
  SHOAL_CHECK(state_->current == nullptr);  // not from a strand of this world
  while (state_->step(until)) {
  }
  if (until != SteadyTime::max()) state_->now = std::max(state_->now, until);
  return state_->queue.empty();
}

bool VirtualWorld::run_for(Duration duration) { return run_until(now() + duration); }

}  // namespace shoal
