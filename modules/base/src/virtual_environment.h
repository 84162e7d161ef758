// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The Environment of one task of a VirtualWorld. All its code runs on the thread that calls run_until() or step() there.
#include <deque>
#include <string>

#include "killable_storage.h"
#include "shoal/base/random.h"
#include "transports.h"
#include "virtual_program.h"
#include "virtual_world.h"

namespace shoal {

class VirtualEnvironment final : public Environment, private JobPool {
 public:
  VirtualEnvironment(VirtualWorld::State& world, VirtualTaskOptions options, uint64_t number);
  ~VirtualEnvironment() override;

  SteadyTime now() const override { return world_.now; }
  WallTime wall_now() const override;
  void post(Work work) override;
  bool on_strand() const override { return world_.current == this; }
  Task<Result<void>> sleep_until(SteadyTime when, StopToken stop) override;
  Task<Result<void>> offload(Work work) override;
  void parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) override;
  JobPool& pool() override { return *this; }
  Result<transport::Transport*> transport(std::string_view scheme) override;
  Storage& storage() override { return storage_; }
  BufferPool& buffers() override { return *buffers_; }
  Logger& log() override { return log_; }
  const ProcessInfo& process() const override { return process_; }
  uint64_t entropy() override { return entropy_.next_u64(); }
  StopToken interrupted() override { return interrupted_.token(); }
  StopToken leaving() override { return leaving_.token(); }
  void sometimes(std::string_view mark) override;

  void kill();
  void spend(Duration time) { longer_ += time; }
  void interrupt() { interrupted_.request_stop(); }
  void leave() {
    leaving_.request_stop();
    interrupted_.request_stop();
  }
  void end_transports() { transports_.clear(); }
  bool killed() const { return storage_.killed(); }
  const std::string& name() const { return log_.task(); }
  uint64_t number() const { return number_; }
  bool frozen() const { return frozen_; }
  void set_frozen(bool frozen) { frozen_ = frozen; }
  RunningProgram* program() const { return program_.get(); }
  void set_program(std::shared_ptr<RunningProgram> program) { program_ = std::move(program); }
  void begin_program();

 private:
  friend class VirtualWaiter;
  void run_until_done(Task<void> entry) override;
  bool submit(Work job) override;
  int threads() const override { return 1; }
  /// The error for a call of a killed task: Cancelled. Ends the process if the task keeps on calling.
  Error refuse();

  Duration draw_offload_duration();

  VirtualWorld::State& world_;
  const uint64_t number_;
  const Duration offload_duration_, offload_jitter_;
  const ProcessInfo process_;
  const std::function<WallTime(SteadyTime)> wall_clock_;
  Duration longer_{};  // Virtual time that storage calls and spend() add to the offloaded work now running.
  bool frozen_ = false;
  SteadyTime compute_free_at_{};  // When the compute thread is free: it does one work at a time, in virtual time too.
  std::deque<Work> jobs_;
  bool in_job_ = false;
  uint64_t refused_count_ = 0;
  std::vector<VirtualWaiter*> waiters_;  // In the order in which they began to wait.
  KillableStorage storage_;
  std::shared_ptr<BufferPool> buffers_;
  Logger log_;
  RandomStream entropy_, durations_;
  StopSource leaving_, interrupted_;
  Transports transports_;
  std::shared_ptr<RunningProgram> program_;
};

}  // namespace shoal
