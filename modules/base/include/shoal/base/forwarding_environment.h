// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A base class for your own Environment: it forwards every call to another environment, and you override only the calls
/// that you want to change (the wall clock, randomness, the facts about the process).
///
///   class FixedDay final : public shoal::ForwardingEnvironment {
///    public:
///     using ForwardingEnvironment::ForwardingEnvironment;
///     shoal::WallTime wall_now() const override { return kDay; }
///   };
///   config.environment = std::make_shared<FixedDay>(shoal::make_production_environment({.storage = files}));
#include <memory>
#include <string_view>
#include <utility>

#include "shoal/base/environment.h"

namespace shoal {

/// The inner environment does not call your overrides: its log lines, transports and timers use its own clocks. Your code
/// runs on the inner environment's threads; environment.h says which call may come from which thread.
class ForwardingEnvironment : public Environment {
 public:
  explicit ForwardingEnvironment(std::shared_ptr<Environment> inner) : inner_(std::move(inner)) {}

  SteadyTime now() const override;
  WallTime wall_now() const override;
  void post(Work work) override;
  bool on_strand() const override;
  Task<Result<void>> sleep_until(SteadyTime when, StopToken stop = {}) override;
  Task<Result<void>> offload(Work work) override;
  void parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) override;
  JobPool& pool() override;
  Result<transport::Transport*> transport(std::string_view scheme) override;
  Storage& storage() override;
  BufferPool& buffers() override;
  Logger& log() override;
  const ProcessInfo& process() const override;
  uint64_t entropy() override;
  StopToken interrupted() override;
  StopToken leaving() override;
  void sometimes(std::string_view mark) override;

 protected:
  void run_until_done(Task<void> entry) override;

  const std::shared_ptr<Environment> inner_;
};

}  // namespace shoal
