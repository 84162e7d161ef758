// SPDX-License-Identifier: Apache-2.0
#include "plot/better.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace shoal::cli::plot {
namespace {

template <size_t kCount>
bool has_any(const std::string& name, const std::array<std::string_view, kCount>& words) {
  return std::any_of(words.begin(), words.end(),
                     [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

}  // namespace

Better better_of(std::string_view tag) {
  static constexpr std::array<std::string_view, 9> kLessWords{"loss", "error",   "perplexity", "mse",     "rmse",
                                                              "mae",  "entropy", "regret",     "distance"};
  static constexpr std::array<std::string_view, 8> kMoreWords{"accuracy", "auc",  "precision", "recall",
                                                              "f1",       "bleu", "iou",       "r_squared"};
  std::string name(tag.substr(tag.rfind('/') + 1));
  std::transform(name.begin(), name.end(), name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (has_any(name, kLessWords)) return Better::kLess;  // Checked first, since "accuracy_loss" is a loss.
  if (has_any(name, kMoreWords)) return Better::kMore;
  return Better::kUnknown;
}

std::optional<Timed<double>> best_of(const std::vector<Timed<double>>& values, Better better) {
  std::optional<Timed<double>> best;
  if (better == Better::kUnknown) return best;
  for (const Timed<double>& value : values) {
    if (!std::isfinite(value.value)) continue;
    const bool is_better = !best || (better == Better::kLess ? value.value < best->value : value.value > best->value);
    if (is_better) best = value;
  }
  return best;
}

}  // namespace shoal::cli::plot
