// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What training begins with where there is no checkpoint: initializers, those that model_fn gives in their place, and its
/// own values (CONTRACT EST-6).
#include <map>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/estimator/initial_value.h"
#include "shoal/estimator/mode.h"
#include "shoal/graph/graph.h"

namespace shoal {

/// EstimatorSpec::initial_values, by variable. A value.
class InitialValues {
 public:
  /// Errors: see EstimatorSpec.
  static Result<InitialValues> resolve(const std::vector<std::pair<std::string, InitialValue>>& given, const Graph& graph,
                                       Mode mode);

  const Initializer& initializer_of(const Variable& variable) const;
  /// The variables that start from values, which only this process has.
  const std::map<std::string, Tensor, std::less<>>& values() const { return values_; }
  /// What the rows of `segment` start with: the values, else what the segment's initializer makes.
  Result<void> fill(const cluster::Segment& segment, std::span<std::byte> out) const;

 private:
  Result<void> set(const Variable& variable, const InitialValue& given);

  std::map<std::string, Initializer, std::less<>> initializers_;
  std::map<std::string, Tensor, std::less<>> values_;
};

}  // namespace shoal
