// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Decides which checkpoints stay on disk for good when newer ones replace them in the list of retained checkpoints: about
/// one in a given number of hours.
#include <map>
#include <optional>
#include <string>

#include "shoal/base/time.h"

namespace shoal::checkpoint {

/// Applies to each checkpoint when later ones push it off the list of retained checkpoints. A limit K starts at (start of
/// training + n hours). A checkpoint that was saved after K stays on disk, and K then moves on by n hours; any other is
/// deleted.
///
/// Time is the monotonic clock of the run that saves: if a wall clock jumped, the rule might keep all checkpoints, or none
/// for years. The save time of an earlier run's checkpoint is not known on this clock, so it counts as saved before
/// training started and is never kept by this rule.
///
/// A value type: decide on a copy, and replace the original once the list is written. One thread at a time.
class HoursRule {
 public:
  /// `hours`: about one checkpoint in so many hours stays on disk for good; greater than 0. Without a
  /// value no checkpoint stays for good.
  HoursRule(SteadyTime training_start, std::optional<double> hours);

  /// Notes that `name` ("model.ckpt-200") was saved at `when`. A later save of the same name replaces the time.
  void saved(const std::string& name, SteadyTime when) { save_times_[name] = when; }
  /// Call it once, when a save takes checkpoint `name` off the list of retained checkpoints. Returns true if the files of
  /// the checkpoint are to stay on disk for good.
  bool keeps(const std::string& name);

 private:
  std::optional<Duration> interval_;
  SteadyTime limit_{};  // The limit K.
  // Save times of the checkpoints that this run saved and that are still in the list.
  std::map<std::string, SteadyTime> save_times_;
};

}  // namespace shoal::checkpoint
