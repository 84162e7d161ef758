// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which of two values of a metric is the better one.
#include <cstdint>
#include <optional>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::tuning {

/// Says whether a metric is better if it is smaller (kMin) or larger (kMax).
enum class Goal : uint8_t { kMin, kMax };
/// Returns "min" or "max".
std::string_view to_string(Goal goal);
/// An unknown name gives InvalidArgument, which lists the names.
Result<Goal> parse_goal(std::string_view name);

/// Returns the goal that the name of a metric implies. The words of the last part of the name decide ("head/average_loss"),
/// in capitals or not. kMin: loss, logloss, error, entropy, crossentropy, mse, rmse, mae, mape, perplexity, regret, nll.
/// kMax: accuracy, auc, precision, recall, f1, bleu, iou, r2, ndcg. A name with words of both kinds
/// ("accuracy_loss") gives kMin, and a name without any of these words gives nothing.
std::optional<Goal> implied_goal(std::string_view metric);
/// Like implied_goal(), but gives InvalidArgument, which says what to do, if the name implies no goal.
Result<Goal> goal_of(std::string_view metric);

/// True if the value `a` is better than `b`. NaN is worse than every number and no better than NaN.
bool is_better(double a, double b, Goal goal);

}  // namespace shoal::tuning
