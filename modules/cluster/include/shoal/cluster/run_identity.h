// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which run of a model_dir a model belongs to, as its servers and trainers tell each other (CONTRACT RU-6, RU-7).
#include <cstdint>
#include <string>

namespace shoal::cluster {

struct RunIdentity {
  /// What run.json of the chief's model_dir says: 32 hexadecimal digits. Empty: not known.
  std::string id;
  /// The base seed of the run, for tasks that are given none. It says something where the id is known.
  int64_t seed = 0;
  friend bool operator==(const RunIdentity&, const RunIdentity&) = default;
};

}  // namespace shoal::cluster
