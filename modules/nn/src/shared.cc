// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/shared.h"

namespace shoal::nn {

Graph::Scope SharedVariables::enter(Graph& graph) {
  if (graph_ && graph_ != &graph) {
    raise(invalid_argument("shared layers \"" + name_ +
                           "\" were called in another graph before; make them anew in each call of model_fn"));
  }
  graph_ = &graph;
  return graph.shared_scope(name_, variables_of_);
}

}  // namespace shoal::nn
