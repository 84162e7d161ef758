// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the leader gives to the store where there is no checkpoint, and where not all of it is made by initializers: the
/// values of model_fn, and over them a warm start.
#include <memory>
#include <string>

#include "model/warm_start_source.h"
#include "shoal/base/environment.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

class InitialSource final : public cluster::RestoreSource {
 public:
  /// For the variables of `graph`, a model of `mode`. `start` may be null. Errors: see WarmStart.
  static Result<std::unique_ptr<InitialSource>> open(Environment& env, const WarmStart* start, const Graph& graph,
                                                     const InitialValues& values, Mode mode);

  /// Step 0, and no position in an input.
  const cluster::StateInfo& info() const override { return info_; }
  /// What the store cannot make itself: values that only this process has.
  bool holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const override;
  /// Of any variable, in arena 0 also what initializers make. DataLoss naming the file, if one of the warm start is damaged.
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;
  /// "initial values: 2 of 7 variables start from values of model_fn", and what the warm start says; a line for each.
  const std::vector<std::string>& summaries() const { return summaries_; }

 private:
  explicit InitialSource(InitialValues values) : values_(std::move(values)) {}

  const InitialValues values_;
  std::unique_ptr<WarmStartSource> warm_start_;  // Null if there is none.
  cluster::StateInfo info_;
  std::vector<std::string> summaries_;
};

}  // namespace shoal
