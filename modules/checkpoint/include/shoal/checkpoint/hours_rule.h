// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which of the checkpoints that leave the list stay on disk for good: about one per so many hours (CONTRACT CK-12).
#include <map>
#include <optional>
#include <string>

#include "shoal/base/time.h"

namespace shoal::checkpoint {

/// A limit K starts at (start of training + n hours). A checkpoint that leaves the list and was saved after K is kept, and
/// K moves on by n hours.
///
/// Time is the monotonic clock of the run that saves: a wall clock that jumps would keep all of them, or none for years. So
/// a checkpoint of an earlier run, whose time on this clock nobody knows, counts as saved before training started, and is
/// never kept by this rule.
///
/// A value: decide on a copy, and take it over once the list was replaced. One thread at a time.
class HoursRule {
 public:
  /// `hours` greater than 0; nothing: none is kept.
  HoursRule(SteadyTime training_start, std::optional<double> hours);

  /// `name` ("model.ckpt-200") was saved at `when`, for the first time or again.
  void saved(const std::string& name, SteadyTime when) { save_times_[name] = when; }
  /// `name` leaves the list: true if it is kept on disk.
  bool keeps(const std::string& name);

 private:
  std::optional<Duration> interval_;
  SteadyTime limit_{};  // The limit K.
  // When those were saved that this run saved and that have not left.
  std::map<std::string, SteadyTime> save_times_;
};

}  // namespace shoal::checkpoint
