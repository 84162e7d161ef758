// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a parameter server knows of a trainer and its present process. A trainer that is started again has a new process.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/protocol.h"

namespace shoal::cluster {

struct TrainerRecord {
  uint64_t incarnation = 0;
  std::string run = {};           ///< The run that the trainer's process named when it connected; empty: it knew none.
  uint64_t first_connection = 0;  ///< The number of this process's first connection, in the order of acceptance.
  uint64_t newest_connection = 0;
  std::vector<uint64_t> replaced;  ///< Processes that a newer one replaced: they are not admitted again.
  /// The number of the trainer's newest push that was applied or dropped. A push with this or a lower
  /// number is a repetition: it only gets a reply.
  uint64_t last_push = 0;
  uint64_t last_counted = 0;  ///< The number of the trainer's newest push whose gradient was applied.
  PushCounts pushes;          ///< Counted over all processes of this trainer.
  /// The share of the trainer's time, 0 to 1, spent waiting for its input, as its newest committed push says.
  std::optional<double> input_wait = {};
  /// True if the trainer has a residual (gradient values that it has not sent yet) that this server lacks: its newest push
  /// since the model was loaded was compressed with top-k.
  bool keeps_back = false;
  int connections = 0;
  bool done = false;  ///< True if the trainer makes no more pushes, for now or for good.
  bool left = false;  ///< True if the trainer's process has said that it leaves.

  bool was_replaced(uint64_t process) const { return std::ranges::find(replaced, process) != replaced.end(); }
  void replace(uint64_t process) {
    constexpr size_t kReplacedMax = 256;
    if (!was_replaced(process)) replaced.push_back(process);
    if (replaced.size() > kReplacedMax) replaced.erase(replaced.begin());
  }
};

}  // namespace shoal::cluster
