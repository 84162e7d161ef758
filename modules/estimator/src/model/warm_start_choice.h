// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which variables of a model a warm start brings, decided by names alone (CONTRACT EST-14).
#include <map>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/mode.h"
#include "shoal/estimator/warm_start.h"
#include "shoal/graph/graph.h"

namespace shoal {

struct WarmStartedVariable {
  const Variable* variable = nullptr;            ///< One of the graph.
  SourceTensor source;                           ///< What it is in the source.
  const VocabularyChange* vocabulary = nullptr;  ///< One of the WarmStart; null: the variable comes whole.
};

struct WarmStartedVariables {
  std::vector<WarmStartedVariable> variables;  ///< In the order of the graph.
  /// Tensors that layers bring for variables that the model lacks, by the name that such a variable would have.
  std::map<std::string, SourceTensor> without_variable;
};

/// What is wrong with `start` whatever the model: InvalidArgument for a pattern that is none, an empty list, a vocabulary
/// that is empty or has a token twice.
Result<void> check_warm_start(const WarmStart& start);

/// The variables of `graph` that `start` chooses. Both outlive the result. InvalidArgument with a list of the model's
/// variables for names, layers and patterns that fit none of them.
Result<WarmStartedVariables> choose_warm_started(const WarmStart& start, const Graph& graph, Mode mode);

/// "a, b, c", or "none".
std::string listed(const std::vector<std::string>& names);

}  // namespace shoal
