// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The queue of a VirtualWorld: the work of all its tasks, ordered by virtual time.
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

/// What a coroutine of `env` awaits to sleep until a virtual time, which resume_at() sets. Lies in the coroutine's frame.
class VirtualWaiter {
 public:
  explicit VirtualWaiter(VirtualEnvironment& env);
  ~VirtualWaiter();
  VirtualWaiter(const VirtualWaiter&) = delete;
  VirtualWaiter& operator=(const VirtualWaiter&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) { handle_ = handle; }
  void await_resume() const {}
  /// Sets the time at which the coroutine is resumed. A further call changes the time. Deadline::max(): the coroutine
  /// sleeps until a further call sets a time.
  void resume_at(SteadyTime when);

 private:
  friend class VirtualEnvironment;
  friend struct VirtualWorld::State;
  VirtualEnvironment* env_;  // Null once the environment is destroyed.
  std::coroutine_handle<> handle_;
  std::pair<SteadyTime, uint64_t> key_{};
  bool queued_ = false;
};

struct VirtualWorld::State {
  // When an entry is due, and a number that counts entries: those of equal time run in the order in which they were added.
  using Key = std::pair<SteadyTime, uint64_t>;
  struct Happening {
    VirtualEnvironment* env;
    Work work;
    VirtualWaiter* waiter;  // The coroutine to resume. Null: run `work`.
  };

  using Queue = std::map<Key, Happening>;

  explicit State(const VirtualWorldOptions& options)
      : seed(options.seed), shuffled(options.shuffled), order(fold_in(RandomKey(options.seed), "order")) {}

  Key add(SteadyTime when, Happening happening);
  /// Moves virtual time to the next entry of the queue and runs it. False if no entry is due up to `until`.
  bool step(SteadyTime until);
  Queue::iterator choose(SteadyTime until);
  /// Resumes the program of `env` if the coroutine that the program waits for is done.
  void resume_program(VirtualEnvironment& env);
  VirtualEnvironment* program_on_this_thread() const;

  const uint64_t seed;
  const bool shuffled;
  RandomStream order;
  SteadyTime now{};
  uint64_t next_number = 0;
  Queue queue;
  VirtualEnvironment* current = nullptr;               // The task whose strand is running; null: none.
  std::map<std::string, uint64_t, std::less<>> marks;  // How often each coverage point (a named rare path) was passed.
  uint64_t trace = 0;
  std::vector<std::unique_ptr<VirtualEnvironment>> environments;
};

}  // namespace shoal
