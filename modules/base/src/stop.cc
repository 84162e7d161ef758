// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/stop.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal {

struct StopState {
  struct Entry {
    uint64_t id;
    Work callback;
  };
  std::atomic<bool> stopped{false};  // Set with `mutex` locked, read without.
  /// If the parent has stopped, this state counts as stopped, too. Set before any other thread can see this state, so it
  /// needs no lock.
  std::shared_ptr<const StopState> parent;
  std::mutex mutex;
  std::condition_variable ran;
  // `mutex` guards all members below. Callbacks run in the order of registration.
  std::vector<Entry> entries;
  uint64_t next_id = 1;
  uint64_t running_id = 0;
  std::thread::id running_thread;

  /// Asks the parents too: a parent's stop counts even before the parent has called this state's callback. A parent runs
  /// its callbacks one after another, so code that one callback has woken could otherwise find that another child of the
  /// parent has not stopped yet.
  bool is_stopped() const {
    for (const StopState* state = this; state; state = state->parent.get()) {
      if (state->stopped.load(std::memory_order_acquire)) return true;
    }
    return false;
  }

  bool request() {
    std::unique_lock lock(mutex);
    if (stopped.exchange(true)) return false;
    running_thread = std::this_thread::get_id();
    while (!entries.empty()) {
      Entry entry = std::move(entries.front());
      entries.erase(entries.begin());
      running_id = entry.id;
      lock.unlock();  // No lock is held across a callback.
      entry.callback();
      entry.callback = Work();  // Destroys the captures before the destructor of the StopCallback may return.
      lock.lock();
      running_id = 0;
      ran.notify_all();
    }
    return true;
  }

  /// Registers `callback` and returns its number. Returns 0, and leaves `callback` alone, if this state has stopped: the
  /// caller then runs it.
  uint64_t add(Work& callback) {
    std::lock_guard lock(mutex);
    if (stopped.load(std::memory_order_relaxed)) return 0;
    entries.push_back({next_id, std::move(callback)});
    return next_id++;
  }

  void remove(uint64_t id) {
    Work removed;  // Destroyed after the lock is released, since its destructor may run the user's code.
    std::unique_lock lock(mutex);
    const auto found = std::ranges::find(entries, id, &Entry::id);
    if (found != entries.end()) {
      removed = std::move(found->callback);
      entries.erase(found);
      lock.unlock();
    } else if (running_thread != std::this_thread::get_id()) {
      ran.wait(lock, [&] { return running_id != id; });
      lock.unlock();
    }
  }
};

bool StopToken::stop_requested() const { return state_ && state_->is_stopped(); }

StopSource::StopSource() : state_(std::make_shared<StopState>()) {}

StopSource::StopSource(StopToken parent) : StopSource() {
  if (!parent.stop_possible()) return;
  state_->parent = parent.state_;
  parent_ = std::make_shared<StopCallback>(parent, [state = state_] { state->request(); });
}

StopSource::~StopSource() = default;

bool StopSource::request_stop() const {
  const auto keep = state_;  // A callback may destroy this source.
  return keep->request();
}

StopCallback::StopCallback(const StopToken& token, Work callback) : state_(token.state_) {
  if (!state_) return;
  id_ = state_->add(callback);
  if (id_ == 0) callback();
}

StopCallback::~StopCallback() {
  if (state_ && id_ != 0) state_->remove(id_);
}

StopToken::StopToken(std::shared_ptr<StopState> state) : state_(std::move(state)) {}
StopToken StopSource::token() const { return StopToken(state_); }
bool StopSource::stop_requested() const { return token().stop_requested(); }

}  // namespace shoal
