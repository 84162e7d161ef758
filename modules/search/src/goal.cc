// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/goal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

namespace shoal::tuning {
namespace {

constexpr std::array<std::string_view, 8> kLessIsBetter{"loss", "error",   "perplexity", "mse",
                                                        "mae",  "entropy", "regret",     "distance"};
constexpr std::array<std::string_view, 8> kMoreIsBetter{"accuracy", "auc",  "precision", "recall",
                                                        "f1",       "bleu", "iou",       "r_squared"};

bool has_any(const std::string& name, std::span<const std::string_view> words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return name.find(word) != std::string::npos; });
}

}  // namespace

std::string_view to_string(Goal goal) { return goal == Goal::kMin ? "min" : "max"; }

Result<Goal> parse_goal(std::string_view name) {
  for (const Goal goal : {Goal::kMin, Goal::kMax}) {
    if (name == to_string(goal)) return goal;
  }
  return invalid_argument("\"" + std::string(name) + "\" is no goal; there are min, max");
}

std::optional<Goal> implied_goal(std::string_view metric) {
  std::string name(metric.substr(metric.rfind('/') + 1));
  std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
  if (has_any(name, kLessIsBetter)) return Goal::kMin;
  if (has_any(name, kMoreIsBetter)) return Goal::kMax;
  return std::nullopt;
}

Result<Goal> goal_of(std::string_view metric) {
  if (const auto goal = implied_goal(metric)) return *goal;
  return invalid_argument("whether more or less of the metric " + std::string(metric) +
                          " is better is not known: say which is the goal, min or max");
}

bool is_better(double a, double b, Goal goal) {
  if (std::isnan(a)) return false;
  if (std::isnan(b)) return true;
  return goal == Goal::kMin ? a < b : a > b;
}

}  // namespace shoal::tuning
