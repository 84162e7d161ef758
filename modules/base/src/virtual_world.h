#pragma once
/// The one queue of a VirtualWorld: what happens next, and when.
#include <coroutine>
#include <cstdint>
#include <map>
#include <memory>
#include <utility>
#include <vector>

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
  VirtualEnvironment* env_;  // null once that is gone
  std::coroutine_handle<> handle_;
  std::pair<SteadyTime, uint64_t> key_{};
  bool queued_ = false;
};

struct VirtualWorld::State {
  using Key = std::pair<SteadyTime, uint64_t>;  // equal times: in the order of asking
  struct Happening {
    VirtualEnvironment* env;
    Work work;
    VirtualWaiter* waiter;  // null: run `work`
  };

  explicit State(uint64_t seed_of_all) : seed(seed_of_all) {}

  Key add(SteadyTime when, Happening happening);
  /// The next one runs, and the clock goes there. False if there is none up to `until`.
  bool step(SteadyTime until);

  const uint64_t seed;
  SteadyTime now{};
  uint64_t next_number = 0;
  std::map<Key, Happening> queue;
  VirtualEnvironment* current = nullptr;  // whose strand it is at the moment
  std::vector<std::unique_ptr<VirtualEnvironment>> environments;
};

}  // namespace shoal
