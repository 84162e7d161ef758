// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names the run (one training in one model_dir) that a model belongs to. Servers and trainers compare it when they
/// connect.
#include <cstdint>
#include <string>

namespace shoal::cluster {

struct RunIdentity {
  /// The run's id in run.json of the chief's model_dir: 32 hexadecimal digits. Empty: not known.
  std::string id;
  /// The base seed of the run, for tasks without a seed of their own. Only valid if the id is known.
  int64_t seed = 0;
  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

}  // namespace shoal::cluster
