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

  SteadyTime now() const override { return inner_->now(); }
  WallTime wall_now() const override { return inner_->wall_now(); }
  void post(Work work) override { inner_->post(std::move(work)); }
  bool on_strand() const override { return inner_->on_strand(); }
  Task<Result<void>> sleep_until(SteadyTime when, StopToken stop = {}) override {
    return inner_->sleep_until(when, std::move(stop));
  }
  Task<Result<void>> offload(Work work) override { return inner_->offload(std::move(work)); }
  void parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) override {
    inner_->parallel_for(count, grain, body);
  }
  JobPool& pool() override { return inner_->pool(); }
  Result<transport::Transport*> transport(std::string_view scheme) override { return inner_->transport(scheme); }
  Storage& storage() override { return inner_->storage(); }
  BufferPool& buffers() override { return inner_->buffers(); }
  Logger& log() override { return inner_->log(); }
  const ProcessInfo& process() const override { return inner_->process(); }
  uint64_t entropy() override { return inner_->entropy(); }
  StopToken interrupted() override { return inner_->interrupted(); }
  StopToken leaving() override { return inner_->leaving(); }
  void sometimes(std::string_view mark) override { inner_->sometimes(mark); }

 protected:
  void run_until_done(Task<void> entry) override { inner_->run(std::move(entry)); }

  const std::shared_ptr<Environment> inner_;
};

}  // namespace shoal
