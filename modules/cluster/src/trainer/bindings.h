// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds where the variables and updates (gradients) of a program lie in the shards' arenas.
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/cluster/shard_plan.h"

namespace shoal::cluster {

/// Maps the variables that a program reads, and the updates (gradients) that it writes, to segments of the shards' arenas,
/// the buffers that hold many variables. This is done once: later steps only change the arenas' addresses.
class Bindings {
 public:
  /// Finds the segments of `plan` that have the rows of each variable and update. NotFound names a variable that the plan
  /// lacks.
  Result<void> bind(const ShardPlan& plan, const std::vector<std::string>& variables,
                    const std::vector<std::string>& updates);
  /// From now on the program reads the weights of shard `shard` from `arena` (set_weights()), or writes its gradients there
  /// (set_updates()).
  void set_weights(size_t shard, const std::byte* arena);
  void set_updates(size_t shard, std::byte* arena);

  std::span<const backends::Pieces> variables() const { return variable_spans_; }
  std::span<const backends::MutablePieces> updates() const { return update_spans_; }
  /// For each variable (or update): the numbers of the shards that have its rows, one for each segment.
  std::vector<std::vector<size_t>> shards_of_variables() const { return by_name(variable_places_, variable_spans_.size()); }
  std::vector<std::vector<size_t>> shards_of_updates() const { return by_name(update_places_, update_spans_.size()); }

 private:
  struct Place {
    size_t name;   // The index of the variable or update whose rows lie at `offset` of the arena.
    size_t piece;  // An index into variable_pieces_ or update_pieces_.
    uint64_t offset;
  };
  static std::vector<std::vector<size_t>> by_name(const std::vector<std::vector<Place>>& places, size_t names);

  std::vector<backends::Piece> variable_pieces_;
  std::vector<backends::MutablePiece> update_pieces_;
  std::vector<backends::Pieces> variable_spans_;
  std::vector<backends::MutablePieces> update_spans_;
  std::vector<std::vector<Place>> variable_places_;  // By shard.
  std::vector<std::vector<Place>> update_places_;
};

}  // namespace shoal::cluster
