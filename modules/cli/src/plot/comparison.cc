// SPDX-License-Identifier: Apache-2.0
#include "plot/comparison.h"

#include <algorithm>
#include <cmath>

namespace shoal::cli::plot {
namespace {

bool is_far(double a, double b) {
  if (is_same(a, b)) return false;
  const double most = std::max(std::abs(a), std::abs(b));
  return !std::isfinite(most) || std::abs(a - b) > kFar * most;
}

std::vector<FactDifference> fact_differences(const RunFacts& a, const RunFacts& b) {
  std::vector<FactDifference> differences;
  std::map<std::string, std::pair<json::Json, json::Json>> both;
  for (const auto& [name, value] : a.facts) both[name].first = value;
  for (const auto& [name, value] : b.facts) both[name].second = value;
  for (const auto& [name, values] : both) {
    if (values.first != values.second) differences.push_back({name, values.first, values.second});
  }
  return differences;
}

MetricComparison metric_of(const Key& key, const Sequence<double>& a, const Sequence<double>& b) {
  MetricComparison metric{
      .key = key, .goal = tuning::implied_goal(key.tag), .last_a = a.items().back(), .last_b = b.items().back()};
  metric.best_a = best_of(a.items(), metric.goal);
  metric.best_b = best_of(b.items(), metric.goal);
  return metric;
}

CurveComparison curve_of(const Key& key, const std::vector<Timed<double>>& a, const std::vector<Timed<double>>& b) {
  CurveComparison curve{.key = key, .count_a = int64_t(a.size()), .count_b = int64_t(b.size())};
  curve.last_step_a = a.back().step;
  curve.last_step_b = b.back().step;
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].step != b[j].step) {
      ++(a[i].step < b[j].step ? i : j);
      continue;
    }
    const StepDifference difference{a[i].step, a[i].value, b[j].value};
    ++curve.compared;
    if (!curve.first && !is_same(difference.a, difference.b)) curve.first = difference;
    if (!curve.first) curve.last_same = difference.step;
    if (!curve.first_far && is_far(difference.a, difference.b)) curve.first_far = difference;
    ++i;
    ++j;
  }
  return curve;
}

}  // namespace

bool measures_speed(const std::string& tag) {
  const std::string_view name = std::string_view(tag).substr(tag.rfind('/') + 1);
  return name == "sec" || name.ends_with("_per_sec") || name == "input_wait" || name == "waiting" ||
         name.starts_with("staleness") || name == "dropped";
}

Comparison compare(const History& a, const RunFacts& facts_a, const History& b, const RunFacts& facts_b) {
  Comparison comparison;
  comparison.facts = fact_differences(facts_a, facts_b);
  comparison.knows_facts = !facts_a.facts.empty() || !facts_b.facts.empty();
  const auto has = [](const History& history, const Key& key) {
    const auto found = history.scalars.find(key);
    return found != history.scalars.end() && !found->second.items().empty();
  };
  for (const auto& [key, sequence] : a.scalars) {
    if (sequence.items().empty()) continue;
    if (!has(b, key)) {
      comparison.only_a.push_back(key);
    } else if (!key.source.empty()) {
      comparison.metrics.push_back(metric_of(key, sequence, b.scalars.at(key)));
    } else if (!measures_speed(key.tag)) {
      comparison.curves.push_back(curve_of(key, sequence.items(), b.scalars.at(key).items()));
    }
  }
  for (const auto& [key, sequence] : b.scalars) {
    if (!sequence.items().empty() && !has(a, key)) comparison.only_b.push_back(key);
  }
  return comparison;
}

}  // namespace shoal::cli::plot
