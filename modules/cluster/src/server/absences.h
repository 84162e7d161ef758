// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Since when trainers are away that the others wait for: after a while they need not any longer (CONTRACT SY-9). Has
/// no clock.
#include <cstddef>
#include <optional>
#include <vector>

#include "shoal/base/time.h"
#include "state/residuals.h"

namespace shoal::cluster {

class Absences {
 public:
  /// `records`: who is connected, and who is done with the job; outlives this.
  Absences(size_t trainers, Duration grace, const TrainerRecords& records)
      : grace_(grace), records_(records), absences_(trainers) {}

  /// A new epoch is ready: who is away has the whole grace before it.
  void begin(SteadyTime now);
  /// The last connection of `trainer` has ended.
  void left(int trainer, SteadyTime now);

  struct Lost {
    std::vector<int> trainers;             ///< Those lost since the last look.
    std::optional<SteadyTime> look_again;  ///< When to look again; none if nobody is awaited.
  };
  /// Who has been away for the grace. Who is done is not missed.
  Lost look(SteadyTime now);

 private:
  /// How long a trainer is away; it means nothing while the trainer is connected.
  struct Absence {
    SteadyTime since = {};
    bool noticed = false;  // True once the others go on without it.
  };

  const Duration grace_;
  const TrainerRecords& records_;
  std::vector<Absence> absences_;  // One entry for each trainer.
};

}  // namespace shoal::cluster
