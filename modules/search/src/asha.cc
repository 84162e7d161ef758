// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/asha.h"

#include <algorithm>
#include <cmath>

namespace shoal::tuning {

Result<Asha> Asha::create(const AshaOptions& options) {
  const auto must = [](const char* name, const char* what, int64_t is) {
    return invalid_argument(std::string(name) + " must be " + what + ", and is " + std::to_string(is));
  };
  if (options.min_steps < 1) return must("min-steps", "1 or more", options.min_steps);
  if (options.max_steps <= options.min_steps) return must("max-steps", "more than min-steps", options.max_steps);
  if (options.eta < 2) return must("eta", "2 or more", options.eta);
  std::vector<int64_t> rungs;
  for (int64_t steps = options.min_steps; steps < options.max_steps; steps *= options.eta) {
    rungs.push_back(steps);
    if (steps > options.max_steps / options.eta) break;  // The product could exceed int64.
  }
  return Asha(options, std::move(rungs));
}

int64_t default_min_steps(int64_t max_steps, int64_t eta) {
  for (int i = 0; i < 3 && eta > 1; ++i) max_steps = max_steps / eta + (max_steps % eta > 0);
  return std::max<int64_t>(1, max_steps);
}

Asha::Asha(const AshaOptions& options, std::vector<int64_t> rungs)
    : options_(options), rungs_(std::move(rungs)), values_(rungs_.size()) {}

std::optional<Asha::Observation> Asha::observe(int64_t trial, int64_t step, double value) {
  if (step >= options_.max_steps) return std::nullopt;  // The trial is complete.
  const int64_t rung = std::upper_bound(rungs_.begin(), rungs_.end(), step) - rungs_.begin() - 1;
  if (rung < 0) return std::nullopt;
  if (const auto known = highest_.find(trial); known != highest_.end() && known->second >= rung) return std::nullopt;
  highest_[trial] = rung;
  std::vector<double>& values = values_[size_t(rung)];
  values.push_back(value);
  const auto better =
      std::count_if(values.begin(), values.end(), [&](double other) { return is_better(other, value, options_.goal); });
  const int64_t go_on = std::max<int64_t>(1, int64_t(values.size()) / options_.eta);
  return Observation{.rung = rung, .goes_on = !std::isnan(value) && better < go_on};
}

}  // namespace shoal::tuning
