// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one queue of a VirtualWorld: what happens next, and when.
#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/base/virtual.h"

namespace shoal {

class VirtualEnvironment;

/// A suspended coroutine of one environment; a member of its frame.
class VirtualWaiter {
 public:
  explicit VirtualWaiter(VirtualEnvironment& env);
  ~VirtualWaiter();
  VirtualWaiter(const VirtualWaiter&) = delete;
  VirtualWaiter& operator=(const VirtualWaiter&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) { handle_ = handle; }
  void await_resume() const {}
  /// Resumes at `when` instead of any earlier answer; Deadline::max(): never, unless asked again.
  void resume_at(SteadyTime when);

 private:
  friend class VirtualEnvironment;
  friend struct VirtualWorld::State;
  VirtualEnvironment* env_;  // Null once that environment is gone.
  std::coroutine_handle<> handle_;
  std::pair<SteadyTime, uint64_t> key_{};
  bool queued_ = false;
};

struct VirtualWorld::State {
  using Key = std::pair<SteadyTime, uint64_t>;  // Equal times are run in the order of asking.
  struct Happening {
    VirtualEnvironment* env;
    Work work;
    VirtualWaiter* waiter;  // Null: run `work`.
  };

  using Queue = std::map<Key, Happening>;

  explicit State(const VirtualWorldOptions& options)
      : seed(options.seed), shuffled(options.shuffled), order(fold_in(RandomKey(options.seed), "order")) {}

  Key add(SteadyTime when, Happening happening);
  /// The next one runs, and the clock goes there. False if there is none up to `until`.
  bool step(SteadyTime until);
  Queue::iterator choose(SteadyTime until);
  /// Programs of `env` that wait for what has come.
  void resume_program(VirtualEnvironment& env);
  VirtualEnvironment* program_on_this_thread() const;

  const uint64_t seed;
  const bool shuffled;
  RandomStream order;
  SteadyTime now{};
  uint64_t next_number = 0;
  Queue queue;
  VirtualEnvironment* current = nullptr;  // The task whose strand it is at the moment.
  std::map<std::string, uint64_t, std::less<>> marks;
  uint64_t trace = 0;
  std::vector<std::unique_ptr<VirtualEnvironment>> environments;
};

}  // namespace shoal
