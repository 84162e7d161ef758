// SPDX-License-Identifier: Apache-2.0
#include "task/give_way.h"

#include "shoal/estimator/task_host.h"

namespace shoal {

bool gives_way(Environment& env, const Error& why) {
  return why.kind() == ErrorKind::kCancelled && !why.cause() && env.leaving().stop_requested();
}

void tell_interrupted(const RunConfig& config, const std::string& model_dir) {
  TaskReport report;
  report.task = config.task().name();
  report.model_dir = model_dir;
  report.interrupted = true;
  if (config.host() && config.host()->report) config.host()->report(report);
}

Error gave_way(const RunConfig& config) {
  TaskReport report;
  report.task = config.task().name();
  report.gave_way = true;
  if (config.host() && config.host()->report) config.host()->report(report);
  return {
      ErrorKind::kCancelled,
      "this task gave way to a terminate signal (on_sigterm is leave): its job has not ended; started again with the same "
      "command it goes on"};
}

}  // namespace shoal
