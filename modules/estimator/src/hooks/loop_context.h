// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A RunContext with its setters. The loop that owns the context uses them; hooks see the context without them.
#include "shoal/estimator/hook.h"
#include "shoal/estimator/task_host.h"

namespace shoal {

class LoopContext final : public RunContext {
 public:
  /// `host`: the task's TaskHost, which its process supplies; null if there is none.
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
