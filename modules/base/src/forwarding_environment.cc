// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/forwarding_environment.h"

namespace shoal {

SteadyTime ForwardingEnvironment::now() const { return inner_->now(); }
WallTime ForwardingEnvironment::wall_now() const { return inner_->wall_now(); }
void ForwardingEnvironment::post(Work work) { inner_->post(std::move(work)); }
bool ForwardingEnvironment::on_strand() const { return inner_->on_strand(); }
Task<Result<void>> ForwardingEnvironment::sleep_until(SteadyTime when, StopToken stop) {
  return inner_->sleep_until(when, std::move(stop));
}
Task<Result<void>> ForwardingEnvironment::offload(Work work) { return inner_->offload(std::move(work)); }
void ForwardingEnvironment::parallel_for(int64_t count, int64_t grain, const UniqueFunction<void(int64_t, int64_t)>& body) {
  inner_->parallel_for(count, grain, body);
}
JobPool& ForwardingEnvironment::pool() { return inner_->pool(); }
Result<transport::Transport*> ForwardingEnvironment::transport(std::string_view scheme) {
  return inner_->transport(scheme);
}
Storage& ForwardingEnvironment::storage() { return inner_->storage(); }
BufferPool& ForwardingEnvironment::buffers() { return inner_->buffers(); }
Logger& ForwardingEnvironment::log() { return inner_->log(); }
const ProcessInfo& ForwardingEnvironment::process() const { return inner_->process(); }
uint64_t ForwardingEnvironment::entropy() { return inner_->entropy(); }
StopToken ForwardingEnvironment::interrupted() { return inner_->interrupted(); }
StopToken ForwardingEnvironment::leaving() { return inner_->leaving(); }
void ForwardingEnvironment::sometimes(std::string_view mark) { inner_->sometimes(mark); }
void ForwardingEnvironment::run_until_done(Task<void> entry) { inner_->run(std::move(entry)); }

}  // namespace shoal
