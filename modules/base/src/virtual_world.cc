// SPDX-License-Identifier: Apache-2.0
#include "virtual_world.h"

#include <algorithm>

#include "guarded.h"
#include "virtual_environment.h"
#include "virtual_program.h"

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

/// Chooses the first entry that is due. If shuffled: draws one of the tasks with due entries, and chooses its first entry.
VirtualWorld::State::Queue::iterator VirtualWorld::State::choose(SteadyTime until) {
  auto first = queue.begin();
  while (first != queue.end() && first->second.env->frozen()) ++first;
  if (first == queue.end() || first->first.first > until) return queue.end();
  if (!shuffled) return first;
  const SteadyTime due = std::max(now, first->first.first);
  std::vector<Queue::iterator> firsts;
  for (auto at = first; at != queue.end() && at->first.first <= due; ++at) {
    VirtualEnvironment* const env = at->second.env;
    const bool known = std::any_of(firsts.begin(), firsts.end(), [env](const auto& it) { return it->second.env == env; });
    if (!known && !env->frozen()) firsts.push_back(at);
  }
  return firsts.size() == 1 ? first : firsts[size_t(order.below(firsts.size()))];
}

bool VirtualWorld::State::step(SteadyTime until) {
  const auto chosen = choose(until);
  if (chosen == queue.end()) return false;
  auto next = queue.extract(chosen);
  now = std::max(now, next.key().first);
  Happening& happening = next.mapped();
  VirtualEnvironment* const env = happening.env;
  trace = fold_in(RandomKey(trace), uint64_t(now.time_since_epoch().count()) ^ (env->number() << 48));
  VirtualEnvironment* const before = std::exchange(current, env);
  if (VirtualWaiter* waiter = happening.waiter) {
    waiter->queued_ = false;
    waiter->handle_.resume();
  } else {
    run_guarded(happening.work, "posted work");
  }
  current = nullptr;
  resume_program(*env);
  current = before;
  return true;
}

void VirtualWorld::State::resume_program(VirtualEnvironment& env) {
  while (env.program() && env.program()->may_resume()) env.program()->resume();
}

VirtualEnvironment* VirtualWorld::State::program_on_this_thread() const {
  for (const auto& env : environments) {
    if (env->program() && env->program()->on_own_thread()) return env.get();
  }
  return nullptr;
}

VirtualWorld::VirtualWorld(VirtualWorldOptions options) : state_(std::make_shared<State>(options)) {}

VirtualWorld::~VirtualWorld() {
  const auto running = [](const auto& env) { return env->program() && !env->program()->done(); };
  for (auto& env : state_->environments) {
    if (!running(env)) continue;
    env->kill();
    env->set_frozen(false);
    state_->resume_program(*env);  // Also starts a program that has not begun.
  }
  while (std::any_of(state_->environments.begin(), state_->environments.end(), running)) {
    SHOAL_CHECK(state_->step(SteadyTime::max()));  // Fails if a killed program waits for an event that never comes.
  }
  // All transports end before any environment does, since the transport of one task may still use that of another.
  for (auto& env : state_->environments) env->end_transports();
  std::exchange(state_->queue, {});
}

Environment& VirtualWorld::add_task(TaskOptions options) {
  auto& environments = state_->environments;
  environments.push_back(std::make_unique<VirtualEnvironment>(*state_, std::move(options), environments.size()));
  return *environments.back();
}

std::shared_ptr<const VirtualProgram> VirtualWorld::start(Environment& task, std::function<void()> body) {
  auto& env = dynamic_cast<VirtualEnvironment&>(task);
  SHOAL_CHECK(!env.program());
  auto program = std::make_shared<RunningProgram>(std::move(body));
  env.set_program(program);
  env.begin_program();
  return program;
}

void VirtualWorld::kill(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).kill(); }
void VirtualWorld::interrupt(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).interrupt(); }
void VirtualWorld::leave(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).leave(); }
void VirtualWorld::freeze(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).set_frozen(true); }
void VirtualWorld::thaw(Environment& task) { dynamic_cast<VirtualEnvironment&>(task).set_frozen(false); }
bool VirtualWorld::frozen(const Environment& task) const { return dynamic_cast<const VirtualEnvironment&>(task).frozen(); }
void VirtualWorld::spend(Environment& task, Duration time) { dynamic_cast<VirtualEnvironment&>(task).spend(time); }

SteadyTime VirtualWorld::now() const { return state_->now; }

bool VirtualWorld::step(SteadyTime until) {
  SHOAL_CHECK(state_->current == nullptr);  // Must not be called on the strand of a task.
  return state_->step(until);
}

bool VirtualWorld::run_until(SteadyTime until) {
  SHOAL_CHECK(state_->current == nullptr);  // Must not be called on the strand of a task.
  while (state_->step(until)) {
  }
  if (until != SteadyTime::max()) state_->now = std::max(state_->now, until);
  return state_->queue.empty();
}

bool VirtualWorld::run_for(Duration duration) { return run_until(now() + duration); }

const std::map<std::string, uint64_t, std::less<>>& VirtualWorld::marks() const { return state_->marks; }
uint64_t VirtualWorld::trace() const { return state_->trace; }

}  // namespace shoal
