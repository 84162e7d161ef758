// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What an Environment of one's own starts from: every call goes on to another one, and who derives from this changes those that
/// it is about (a clock on the wall, randomness, what the process is said to be).
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

/// Lines of log(), and what the inner environment does for itself (transports, timers), are on the inner one's clocks. Threads are
/// those of the inner one: which calls may come from which thread, environment.h says.
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
