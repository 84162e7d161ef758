// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Chooses the variables of a model that a warm start sets. The decision uses names alone: by default all trainable
/// variables, never the global step, the optimizer's slots or moving statistics.
#include <map>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/mode.h"
#include "shoal/estimator/warm_start.h"
#include "shoal/graph/graph.h"

namespace shoal {

struct WarmStartedVariable {
  const Variable* variable = nullptr;            ///< A variable of the graph.
  SourceTensor source;                           ///< The tensor from which the variable starts.
  const VocabularyChange* vocabulary = nullptr;  ///< Points into the WarmStart; null: no change of rows.
};

struct WarmStartedVariables {
  std::vector<WarmStartedVariable> variables;  ///< In the order of the graph.
  /// Source tensors for which the model has no variable, such as a bias for a layer without one. The key is the name that
  /// the variable would have.
  std::map<std::string, SourceTensor> without_variable;
};

/// Finds the mistakes in `start` that show without a model: InvalidArgument for an invalid pattern, an empty list, a
/// vocabulary that is empty or has a token twice.
Result<void> check_warm_start(const WarmStart& start);

/// The variables of `graph` that `start` chooses. Both outlive the result. InvalidArgument with a list of the model's
/// variables for names, layers and patterns that fit none of them.
Result<WarmStartedVariables> choose_warm_started(const WarmStart& start, const Graph& graph, Mode mode);

/// Joins the names to a text: "a, b, c"; "none" if there are no names.
std::string listed(const std::vector<std::string>& names);

}  // namespace shoal
