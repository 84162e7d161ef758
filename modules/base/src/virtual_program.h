// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program of a virtual task: a thread that takes turns with the thread that drives the world (the driver).
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

  /// Called by the driver: lets the program run until it waits or ends.
  void resume();
  /// Called by the program's thread: lets the driver go on until `entry` is done.
  void wait_for(const Task<void>& entry);
  /// Called by the driver: whether the program can go on, since it has not started yet or its `entry` is done.
  bool may_resume() const { return !done_ && (!started_ || (entry_ && entry_->done())); }
  bool on_own_thread() const { return thread_.get_id() == std::this_thread::get_id(); }

 private:
  void give_back() { driver_turn_.release(); }

  std::function<void()> body_;
  bool started_ = false;
  bool done_ = false;
  Result<void> outcome_;
  const Task<void>* entry_ = nullptr;
  std::binary_semaphore program_turn_{0}, driver_turn_{0};  // Each is released when it is that thread's turn to run.
  std::thread thread_;
};

}  // namespace shoal
