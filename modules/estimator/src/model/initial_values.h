// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The initial values of variables if there is no checkpoint. They come from the variables' initializers, from other
/// initializers that model_fn gives, or directly from model_fn.
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

/// Maps variables to what EstimatorSpec::initial_values gives for them. A value type.
class InitialValues {
 public:
  /// Resolves the patterns of `given` to variables of `graph`. Errors: see EstimatorSpec.
  static Result<InitialValues> resolve(const std::vector<std::pair<std::string, InitialValue>>& given, const Graph& graph,
                                       Mode mode);

  const Initializer& initializer_of(const Variable& variable) const;
  /// The initial values that model_fn gives directly, by variable. Only this process has them.
  const std::map<std::string, Tensor, std::less<>>& values() const { return values_; }
  /// Writes the first values of the rows in `segment`: the given values, or else those of the segment's initializer.
  Result<void> fill(const cluster::Segment& segment, std::span<std::byte> out) const;

 private:
  Result<void> set(const Variable& variable, const InitialValue& given);

  std::map<std::string, Initializer, std::less<>> initializers_;
  std::map<std::string, Tensor, std::less<>> values_;
};

}  // namespace shoal
