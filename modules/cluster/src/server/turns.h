// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whose turn it is to change what a server holds. Long computations happen beside the strand, so the strand alone does not
/// keep two requests apart.
#include <cstdint>
#include <deque>
#include <utility>

#include "shoal/base/environment.h"

namespace shoal::cluster {

/// Turns, one at a time, in the order in which they were asked for. They belong to the strand.
class Turns {
 public:
  /// While a turn lives, nobody else has one. It must not outlive the Turns.
  class Turn {
   public:
    explicit Turn(Turns& turns) : turns_(&turns) {}
    Turn(Turn&& other) noexcept : turns_(std::exchange(other.turns_, nullptr)) {}
    Turn& operator=(Turn&&) = delete;
    ~Turn() {
      if (turns_) turns_->next();
    }

   private:
    Turns* turns_;
  };

  explicit Turns(Environment& env) : changed_(env) {}
  /// Waits for a turn until `deadline` (DeadlineExceeded). Cancelled after end().
  Task<Result<Turn>> take(Deadline deadline);
  /// Nobody gets one any more: who has it leaves things half done.
  void end();
  bool taken() const { return !line_.empty(); }

 private:
  void next();

  std::deque<uint64_t> line_;  // The first in line has its turn.
  uint64_t asked_ = 0;
  bool none_left_ = false;
  Event changed_;
};

}  // namespace shoal::cluster
