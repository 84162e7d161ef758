// SPDX-License-Identifier: Apache-2.0
#include "stage_meter.h"

#include <algorithm>

namespace shoal::data {

StageMeter& StageMeters::begin(std::string_view kind) {
  if (!open_.empty()) meters_[open_.back()].inputs.push_back(meters_.size());
  open_.push_back(meters_.size());
  StageMeter& meter = meters_.emplace_back();
  meter.kind = kind;
  return meter;
}

InputStatistics StageMeters::statistics() const {
  InputStatistics statistics;
  std::vector<bool> beside(meters_.size(), false);
  // beside[i]: whether stage i works beside the consumer (InputStatistics). Set before it is read, since a stage's inputs
  // have higher indices than the stage.
  for (size_t i = 0; i < meters_.size(); ++i) {
    const StageMeter& meter = meters_[i];
    int64_t own = meter.nanoseconds.load(std::memory_order_relaxed);
    for (const size_t input : meter.inputs) {
      own -= meters_[input].nanoseconds.load(std::memory_order_relaxed);
      beside[input] = beside[i] || meter.is_border;
    }
    if (meter.waits) own = 0;
    own = std::max<int64_t>(own, 0) + meter.work_nanoseconds.load(std::memory_order_relaxed);
    statistics.stages.push_back({.name = std::string(meter.kind),
                                 .elements = meter.elements.load(std::memory_order_relaxed),
                                 .seconds = double(own) * 1e-9,
                                 .threads = meter.threads,
                                 .is_beside = beside[i],
                                 .is_source = meter.inputs.empty(),
                                 .is_moved = meter.is_moved});
  }
  std::reverse(statistics.stages.begin(), statistics.stages.end());
  return statistics;
}

}  // namespace shoal::data
