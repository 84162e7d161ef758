// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/hours_rule.h"

namespace shoal::checkpoint {

HoursRule::HoursRule(SteadyTime training_start, std::optional<double> hours) {
  if (!hours) return;
  interval_ = seconds_to_duration(*hours * 3600);
  limit_ = training_start + *interval_;
}

bool HoursRule::keeps(const std::string& name) {
  const auto node = save_times_.extract(name);
  if (!interval_ || node.empty() || node.mapped() <= limit_) return false;
  limit_ += *interval_;
  return true;
}

}  // namespace shoal::checkpoint
