// SPDX-License-Identifier: Apache-2.0
#include "server/absences.h"

#include <algorithm>

namespace shoal::cluster {

void Absences::begin(SteadyTime now) { std::ranges::fill(absences_, Absence{.since = now}); }

void Absences::left(int trainer, SteadyTime now) {
  if (size_t(trainer) < absences_.size()) absences_[size_t(trainer)] = {.since = now};
}

Absences::Lost Absences::look(SteadyTime now) {
  Lost lost;
  for (size_t trainer = 0; trainer < absences_.size(); ++trainer) {
    Absence& absence = absences_[trainer];
    const auto known = records_.find(int(trainer));
    const bool awaited = known == records_.end() || (known->second.connections == 0 && !known->second.done);
    if (!awaited || absence.noticed) continue;
    const SteadyTime lost_at = absence.since + grace_;
    if (now < lost_at) {
      lost.look_again = std::min(lost.look_again.value_or(lost_at), lost_at);
    } else {
      absence.noticed = true;
      lost.trainers.push_back(int(trainer));
    }
  }
  return lost;
}

}  // namespace shoal::cluster
