// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Watches trainers that are away while synchronous updates wait for them: after the grace period the others go on
/// without them. The caller passes the present time.
#include <cstddef>
#include <optional>
#include <vector>

#include "shoal/base/time.h"
#include "state/residuals.h"

namespace shoal::cluster {

class Absences {
 public:
  /// `records` says which trainers are connected, and which make no more pushes; outlives this object.
  Absences(size_t trainers, Duration grace, const TrainerRecords& records)
      : grace_(grace), records_(records), absences_(trainers) {}

  /// Begins a new epoch (a model was loaded): the grace period of each trainer that is away starts now.
  void begin(SteadyTime now);
  /// Notes that the last connection of `trainer` has ended.
  void left(int trainer, SteadyTime now);

  struct Lost {
    std::vector<int> trainers;             ///< Trainers whose grace period has ended since the last call.
    std::optional<SteadyTime> look_again;  ///< When to call look() again; none if the updates wait for no absent trainer.
  };
  /// Finds trainers that have been away for the grace period, except those that make no more pushes.
  Lost look(SteadyTime now);

 private:
  /// One trainer's absence; not used while the trainer is connected.
  struct Absence {
    SteadyTime since = {};
    bool noticed = false;  // True once the other trainers go on without this trainer.
  };

  const Duration grace_;
  const TrainerRecords& records_;
  std::vector<Absence> absences_;  // One entry for each trainer.
};

}  // namespace shoal::cluster
