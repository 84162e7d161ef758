// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a parameter server knows of a trainer, whichever process it is now.
#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/cluster/protocol.h"

namespace shoal::cluster {

struct TrainerRecord {
  uint64_t incarnation = 0;
  std::string run = {};           ///< The run that its process is of, as far as that process knew when it came.
  uint64_t first_connection = 0;  ///< The first connection of this process, as a number in the order of acceptance.
  uint64_t newest_connection = 0;
  std::vector<uint64_t> replaced;  ///< Incarnations that a newer process took the place of: they stay out.
  /// The number of its newest push that an order was about: a repeated one is answered, no more.
  uint64_t last_push = 0;
  uint64_t last_counted = 0;  ///< The number of its newest push that was committed.
  PushCounts pushes;          ///< Counts over all incarnations.
  /// The share of its time, 0 to 1, that the trainer waited for its input, as its newest committed push says.
  std::optional<double> input_wait = {};
  /// True if it has a residual that is not known here: its newest push of this epoch was top-k.
  bool keeps_back = false;
  int connections = 0;
  bool done = false;  ///< True if it makes no more pushes: it rests, or has left.
  bool left = false;  ///< True if its process has said goodbye.

  bool was_replaced(uint64_t process) const { return std::ranges::find(replaced, process) != replaced.end(); }
  void replace(uint64_t process) {
    constexpr size_t kReplacedMax = 256;
    if (!was_replaced(process)) replaced.push_back(process);
    if (replaced.size() > kReplacedMax) replaced.erase(replaced.begin());
  }
};

}  // namespace shoal::cluster
