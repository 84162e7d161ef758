// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The built-in hooks. train_and_evaluate() and Estimator::train() add those that the configuration asks for. On the
/// task that writes checkpoints the order is: the checkpoint saver, the model's hooks for the chief, step_counter(),
/// summary_saver(), the caller's hooks (TrainSpec::hooks), stop_at_step(), nan_guard(), loss_logger(), the model's
/// training hooks. On other trainers this list begins with the caller's hooks.
#include <memory>
#include <optional>

#include "shoal/estimator/hook.h"
#include "shoal/estimator/interval_timer.h"

namespace shoal {

struct StopAtStepOptions {
  std::optional<int64_t> num_steps = {};  ///< The number of steps to make from the step at which the run starts.
  std::optional<int64_t> last_step = {};  ///< The global step to stop at.
};
/// Requests a stop once the global step, after the update, reaches the limit. Raises InvalidArgument unless exactly one
/// option is set, to more than 0.
std::shared_ptr<Hook> stop_at_step(StopAtStepOptions options);

struct NanGuardOptions {
  bool fail = true;  ///< If true, the run fails with NanLoss; else it stops without an error.
};
/// A hook that checks whether the loss is NaN. The step of such a loss makes no update, and nothing is saved any more, so
/// the newest checkpoint stays that of an earlier step. Training itself adds a nan_guard() with .fail = true, unless the
/// program has a nan_guard() with .fail = false. With such a hook, training ends without an error for every cause of
/// NanLoss: also for an infinite loss, or a norm or variable that is not finite.
std::shared_ptr<Hook> nan_guard(NanGuardOptions options = {});

/// Logs "loss = 0.31, step = 200 (1.2 s)" every `every_iterations` steps of this trainer, beginning with the first.
std::shared_ptr<Hook> loss_logger(int64_t every_iterations);

/// Writes `global_step/sec` to the log and the summaries every `every_steps` global steps, except at the first call,
/// which only starts the clock. Warns if the global step has not changed in 20 steps of this task.
std::shared_ptr<Hook> step_counter(int64_t every_steps);

/// Records the loss and the model's summaries at the first step and then every `every_steps` global steps.
std::shared_ptr<Hook> summary_saver(int64_t every_steps);

}  // namespace shoal
