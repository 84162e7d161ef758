// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A RunContext as the loop that owns it sees it: hooks get it without the setters.
#include "shoal/estimator/hook.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

class LoopContext final : public RunContext {
 public:
  /// `host`: of the task; null where there is none.
  explicit LoopContext(Environment& env, const TaskHost* host = nullptr)
      : RunContext(env, host ? host->measure_limits : TaskHost().measure_limits) {}
  using RunContext::clear_stop;
  using RunContext::count_iteration;
  using RunContext::count_save;
  using RunContext::read_variables_by;
  using RunContext::set_final_values;
  using RunContext::set_global_step;
  using RunContext::set_task;
};

}  // namespace shoal
