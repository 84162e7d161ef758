// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program of a task in a simulation (VirtualWorld): a thread that takes turns with the driver, the thread that calls
/// VirtualWorld::run_until() or step().
#include <functional>
#include <semaphore>
#include <thread>

#include "shoal/base/virtual.h"

namespace shoal {

class VirtualEnvironment;

class RunningProgram final : public VirtualProgram {
 public:
  explicit RunningProgram(std::function<void()> body) : body_(std::move(body)) {}
  ~RunningProgram() override;

  bool done() const override { return done_; }
  const Result<void>& outcome() const override { return outcome_; }

  /// Called on the driver's thread: lets the program's thread run until it waits or ends, and blocks meanwhile.
  void resume();
  /// Called on the program's thread when the program waits for `entry`: lets the driver's thread run until `entry` is done,
  /// and blocks meanwhile.
  void wait_for(const Task<void>& entry);
  /// Called on the driver's thread: true if the program has not started yet, or if the task that it waits for (wait_for())
  /// is done.
  bool may_resume() const { return !done_ && (!started_ || (entry_ && entry_->done())); }
  bool on_own_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  void give_back() { driver_turn_.release(); }

  std::function<void()> body_;
  bool started_ = false;
  bool done_ = false;
  Result<void> outcome_;
  const Task<void>* entry_ = nullptr;
  // The program's thread and the driver's thread take turns: each waits on its own semaphore, which the other one releases.
  std::binary_semaphore program_turn_{0}, driver_turn_{0};
  std::thread thread_;
};

}  // namespace shoal
