// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The source of initial values that initializers alone cannot make: a warm start and, for variables that it does not set,
/// values of model_fn. If there is no checkpoint, the leading task gives this source to the store.
#include <memory>
#include <string>

#include "model/warm_start_source.h"
#include "shoal/base/environment.h"
#include "shoal/cluster/snapshot.h"

namespace shoal {

class InitialSource final : public cluster::RestoreSource {
 public:
  /// Opens the source for the variables of `graph`, a model of `mode`. `start` may be null. Errors: see WarmStart.
  static Result<std::unique_ptr<InitialSource>> open(Environment& env, const WarmStart* start, const Graph& graph,
                                                     const InitialValues& values, Mode mode);

  /// The state at the start of training: step 0, and no position in an input.
  const cluster::StateInfo& info() const override { return info_; }
  /// True for segments that the store cannot initialize itself, because only this process has the values.
  bool holds(const cluster::Segment& segment, cluster::ArenaIndex arena) const override;
  /// Reads a segment of any variable. For arena 0, the weights, this includes values that initializers make. DataLoss,
  /// naming the file, if a file of the warm start is damaged.
  Result<void> read(const cluster::Segment& segment, cluster::ArenaIndex arena, std::span<std::byte> out) override;
  /// One line each for the log: "initial values: 2 of 7 variables start from values of model_fn", and the summary of the
  /// warm start.
  const std::vector<std::string>& summaries() const { return summaries_; }

 private:
  explicit InitialSource(InitialValues values) : values_(std::move(values)) {}

  const InitialValues values_;
  std::unique_ptr<WarmStartSource> warm_start_;  // Null without a warm start.
  cluster::StateInfo info_;
  std::vector<std::string> summaries_;
};

}  // namespace shoal
