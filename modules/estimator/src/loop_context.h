#pragma once
/// A RunContext as the loop that owns it sees it: hooks get it without the setters.
#include "shoal/estimator/hook.h"

namespace shoal {

class LoopContext final : public RunContext {
 public:
  explicit LoopContext(Environment& env) : RunContext(env) {}
  using RunContext::clear_stop;
  using RunContext::count_iteration;
  using RunContext::set_global_step;
  using RunContext::set_task;
};

}  // namespace shoal
