// SPDX-License-Identifier: Apache-2.0
#include "evaluate/evaluation_notes.h"

#include "shoal/base/format.h"

namespace shoal {
namespace {

/// "RunConfig::save_checkpoints_steps is 500".
std::string cadence_text(const RunConfig& config) {
  if (config.save_checkpoints_steps().value_or(0) > 0) {
    return "RunConfig::save_checkpoints_steps is " + std::to_string(*config.save_checkpoints_steps());
  }
  return formatted("RunConfig::save_checkpoints_secs is %.6g", config.save_checkpoints_secs().value_or(0));
}

}  // namespace

std::optional<std::string> note_on_steps(const Evaluation& evaluation) {
  if (!evaluation.ended_by_steps) return std::nullopt;
  const std::string batches = std::to_string(evaluation.batches);
  const std::string remedy = "; EvalSpec::steps ends it there, and {} evaluates all";
  if (!evaluation.input_batches) return "ended after " + batches + " batches, before the input said that it ends" + remedy;
  if (*evaluation.input_batches <= evaluation.batches) return std::nullopt;
  return batches + " of the input's " + std::to_string(*evaluation.input_batches) + " batches were evaluated" + remedy;
}

std::string note_on_last_step(OnlyLastStep why, const EvalSpec& spec, const RunConfig& config) {
  const std::string only = "evaluation: of this training only the last step was evaluated, ";
  if (why == OnlyLastStep::kStartDelay) {
    return only + "since it ended before EvalSpec::start_delay_secs (" + std::to_string(spec.start_delay_secs) +
           ") was over; with 0 the evaluator begins at once";
  }
  if (why == OnlyLastStep::kThrottle) {
    return only + "since it ended before EvalSpec::throttle_secs (" + std::to_string(spec.throttle_secs) +
           ") had passed since the evaluator's last look";
  }
  return only + "since no other checkpoint of it was there: " + cadence_text(config) + "; a smaller one shows more";
}

}  // namespace shoal
