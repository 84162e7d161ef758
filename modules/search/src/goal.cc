// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/goal.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string>

namespace shoal::tuning {
namespace {

constexpr std::array<std::string_view, 14> kLessIsBetter{"loss",    "losses",       "logloss", "error", "errors",
                                                         "entropy", "crossentropy", "mse",     "rmse",  "mae",
                                                         "mape",    "perplexity",   "regret",  "nll"};
constexpr std::array<std::string_view, 9> kMoreIsBetter{"accuracy", "auc", "precision", "recall", "f1",
                                                        "bleu",     "iou", "r2",        "ndcg"};

bool is_one_of(std::string_view word, std::span<const std::string_view> words) {
  return std::ranges::find(words, word) != words.end();
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
  bool less = false, more = false;
  std::string word;
  for (const char c : std::string(metric.substr(metric.rfind('/') + 1)) + "_") {
    if (c >= 'A' && c <= 'Z') {
      word += char(c + 32);
    } else if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9')) {
      word += c;
    } else {
      less |= is_one_of(word, kLessIsBetter);
      more |= is_one_of(word, kMoreIsBetter);
      word.clear();
    }
  }
  if (less) return Goal::kMin;  // Takes precedence over `more`: "accuracy_loss" is a loss.
  return more ? std::optional(Goal::kMax) : std::nullopt;
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
