// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The built-in hooks. train_and_evaluate and Estimator::train add those that CONTRACT HK-6 lists by themselves.
#include <memory>
#include <optional>

#include "shoal/estimator/hook.h"
#include "shoal/estimator/interval_timer.h"

namespace shoal {

struct StopAtStepOptions {
  std::optional<int64_t> num_steps = {};  ///< Steps from the step at start.
  std::optional<int64_t> last_step = {};  ///< The global step to stop at.
};
/// Requests a stop once the global step, after the update, reaches the limit. Raises InvalidArgument unless exactly one
/// option is set, to more than 0.
std::shared_ptr<Hook> stop_at_step(StopAtStepOptions options);

struct NanGuardOptions {
  bool fail = true;  ///< If true, the run fails with NanLoss; else it stops quietly.
};
/// Looks for a loss that is NaN. Of such a step no update is made, and nothing is saved any more: the last checkpoint is the one
/// before. Training adds one that fails by itself, unless a quiet one is among the hooks: then whatever would end it with
/// NanLoss (an infinite loss, a norm, a variable) ends it quietly, and just so.
std::shared_ptr<Hook> nan_guard(NanGuardOptions options = {});

/// "loss = 0.31, step = 200 (1.2 s)" every `every_iterations` of this trainer, first at the first one.
std::shared_ptr<Hook> loss_logger(int64_t every_iterations);

/// `global_step/sec`, to log and summary, every `every_steps`; the first trigger only starts the clock. Warns if the global
/// step stands still for 20 looks.
std::shared_ptr<Hook> step_counter(int64_t every_steps);

/// Records the loss and the model's summaries at the first step and then every `every_steps`.
std::shared_ptr<Hook> summary_saver(int64_t every_steps);

}  // namespace shoal
