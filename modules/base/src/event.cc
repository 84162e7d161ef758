// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "shoal/base/environment.h"

namespace shoal {

Task<Result<void>> Environment::sleep_for(Duration delay, StopToken stop) {
  return sleep_until(now() + delay, std::move(stop));
}

/// One waiting coroutine. It waits in sleep_until(), which ends early when notify_all() stops `wake`.
struct Event::Waiter {
  explicit Waiter(StopToken stop) : wake(std::move(stop)) {}
  StopSource wake;
  bool notified = false;
  bool event_gone = false;
};

Event::Event(Environment& env) : env_(env) {}

Event::~Event() {
  for (const auto& waiter : std::exchange(waiters_, {})) {
    waiter->event_gone = true;
    waiter->wake.request_stop();
  }
}

void Event::notify_all() {
  for (const auto& waiter : std::exchange(waiters_, {})) {
    waiter->notified = true;
    waiter->wake.request_stop();
  }
}

// This function is no coroutine, since `what` may be a temporary that is gone when the task starts.
Task<Result<void>> Event::wait(std::string_view what, Deadline deadline, StopToken stop) {
  return wait_until(std::string(what), deadline, std::move(stop));
}

Task<Result<void>> Event::wait_until(std::string what, Deadline deadline, StopToken stop) {
  if (stop.stop_requested()) co_return cancelled();
  const auto waiter = std::make_shared<Waiter>(stop);
  waiters_.push_back(waiter);
  const Result<void> slept = co_await env_.sleep_until(deadline, waiter->wake.token());
  if (waiter->notified) co_return Result<void>();
  if (waiter->event_gone) co_return cancelled();  // `*this` was destroyed meanwhile, so no member may be used.
  std::erase(waiters_, waiter);
  if (!slept) co_return slept;
  co_return deadline_exceeded("waiting for " + what);
}

}  // namespace shoal
