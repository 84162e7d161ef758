// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which of two values of a metric is the better one.
#include <optional>
#include <string_view>
#include <vector>

#include "plot/sequence.h"

namespace shoal::cli::plot {

enum class Better { kLess, kMore, kUnknown };

/// Judges by the last part of the tag ("eval/loss", "head/accuracy"). Less of a loss, an error or a perplexity is better;
/// more of an accuracy, an auc, a precision, a recall or an F1 score. Other names give kUnknown.
Better better_of(std::string_view tag);

/// Returns the best finite value, the earliest of equal ones. Nothing if there is none, or if `better` is unknown.
std::optional<Timed<double>> best_of(const std::vector<Timed<double>>& values, Better better);

}  // namespace shoal::cli::plot
