// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Layers that are called more than once with the same variables, for example the two towers of a Siamese network (Bromley
/// et al., "Signature verification using a Siamese time delay neural network", 1993), or an embedding that two inputs
/// share.
#include <string>
#include <utility>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// The scopes of shared layers, one for each call. The class Shared is built on this one; use SharedVariables directly
/// for layers that are not a function object.
class SharedVariables {
 public:
  explicit SharedVariables(std::string name) : name_(std::move(name)) {}
  /// Begins one call of the shared layers. The call ends when the returned scope is destroyed.
  Graph::Scope enter(Graph& graph);

 private:
  const std::string name_;
  const Graph* graph_ = nullptr;
  std::string variables_of_;
};

/// Shares the variables of `layers`, any function whose first argument is a Value:
///
///   nn::Shared encoder("encoder", [](Value x) { return nn::dense(x, {.units = 64, .activation = nn::Activation::kRelu}); });
///   const Value left = encoder(a), right = encoder(b);   // one "encoder/dense/kernel"; in this order
///
/// The first call makes the variables, in the scope `name`. Later calls find them by their names, so each call has to make
/// the same layers, for inputs of the same size (batch and other symbols aside). Gradients of all calls are added up. The
/// penalty of a weight counts once. Moving averages (batch_norm) take the batches of all calls in turn; random ops
/// (dropout) draw separately in each call. Make the object in model_fn, since it belongs to one graph. Raises
/// InvalidArgument for calls that differ, or in another graph.
template <class Layers>
class Shared {
 public:
  Shared(std::string name, Layers layers) : variables_(std::move(name)), layers_(std::move(layers)) {}

  template <class... More>
  auto operator()(Value x, More&&... more) {
    const Graph::Scope scope = variables_.enter(x.graph());
    return layers_(x, std::forward<More>(more)...);
  }

 private:
  SharedVariables variables_;
  Layers layers_;
};

}  // namespace shoal::nn
