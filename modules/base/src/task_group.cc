// SPDX-License-Identifier: Apache-2.0
#include <optional>

#include "shoal/base/environment.h"

namespace shoal {

struct TaskGroup::State {
  explicit State(StopToken parent) : stop(std::move(parent)) {}

  StopSource stop;
  int64_t running = 0;
  std::optional<Error> first_error;
  std::coroutine_handle<> joiner;

  /// Each child calls this at its end. The last child resumes the coroutine that waits in join().
  void ended(Result<void> result) {
    if (!result) {
      const bool better =
          !first_error || (first_error->kind() == ErrorKind::kCancelled && result.error().kind() != ErrorKind::kCancelled);
      if (better) first_error = std::move(result).error();
      stop.request_stop();
    }
    if (--running == 0 && joiner) std::exchange(joiner, {}).resume();
  }
};

namespace {

/// A coroutine that nobody awaits; its frame frees itself at its end. A TaskGroup outlives all of these.
struct Detached {
  struct promise_type : task_detail::PromiseBase {
    Detached get_return_object() { return {}; }
    std::suspend_never initial_suspend() noexcept { return {}; }
    std::suspend_never final_suspend() noexcept { return {}; }
    void return_void() noexcept {}
    void unhandled_exception() noexcept { task_detail::end_of_unhandled_exception(); }
  };
};

template <class State>
Detached run_child(std::shared_ptr<State> state, Task<Result<void>> child) {
  // Counted here, not in spawn(): if the allocation of this coroutine's frame throws, no child runs, and none is counted.
  ++state->running;
  Result<void> result;
  {
    Task<Result<void>> running = std::move(child);
    result = co_await std::move(running);
  }  // The child's frame is destroyed before a coroutine that joins goes on.
  state->ended(std::move(result));
}

}  // namespace

TaskGroup::TaskGroup(Environment&, StopToken stop) : state_(std::make_shared<State>(std::move(stop))) {}

TaskGroup::~TaskGroup() { SHOAL_CHECK(state_->running == 0); }

StopToken TaskGroup::token() const { return state_->stop.token(); }

void TaskGroup::spawn(Task<Result<void>> child) {
  SHOAL_CHECK(child.valid());
  run_child(state_, std::move(child));
}

void TaskGroup::request_stop() { state_->stop.request_stop(); }

Task<Result<void>> TaskGroup::join() {
  struct Joining {
    State& state;
    bool await_ready() { return state.running == 0; }
    void await_suspend(std::coroutine_handle<> self) {
      SHOAL_CHECK(!state.joiner);  // At most one join() at a time.
      state.joiner = self;
    }
    void await_resume() {}
  };
  const std::shared_ptr<State> state = state_;
  Joining joining{*state};
  co_await joining;
  if (state->first_error) co_return *state->first_error;
  co_return Result<void>();
}

int64_t TaskGroup::running() const { return state_->running; }

}  // namespace shoal
