// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which of two values of a metric is the better one.
#include <optional>
#include <string_view>
#include <vector>

#include "plot/sequence.h"

namespace shoal::cli::plot {

enum class Better { kLess, kMore, kUnknown };

/// By the last part of the tag ("eval/loss", "head/accuracy"): less of a loss, an error or a perplexity is better, more of an accuracy, an
/// auc, a precision, a recall or an F1 score. Nothing is known of other names.
Better better_of(std::string_view tag);

/// The best finite value, the earliest of equal ones. Nothing if there is none, or if it is not known which is better.
std::optional<Timed<double>> best_of(const std::vector<Timed<double>>& values, Better better);

}  // namespace shoal::cli::plot
