// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The choice of the optimizer that an estimator trains with.
#include <string>
#include <type_traits>
#include <utility>

#include "shoal/base/std_function.h"
#include "shoal/nn/optimizer.h"

namespace shoal {

/// A name ("Adam", with its defaults), an optimizer, or a function that makes one each time a model is built. Default: the
/// estimator's own default.
class OptimizerChoice {
 public:
  OptimizerChoice() = default;
  /// Raises InvalidArgument, listing the names, if nn::make_optimizer() does not know this name.
  OptimizerChoice(const char* name);                                           // NOLINT: an implicit conversion
  OptimizerChoice(const std::string& name) : OptimizerChoice(name.c_str()) {}  // NOLINT
  OptimizerChoice(nn::Optimizer optimizer);                                    // NOLINT: an implicit conversion
  template <class F>
  requires std::is_invocable_r_v<nn::Optimizer, F&> OptimizerChoice(F make)
      : make_(std::move(make)) {}  // NOLINT: an implicit conversion

  /// The chosen optimizer, or `otherwise` if nothing was chosen.
  nn::Optimizer make_or(nn::Optimizer otherwise) const;

 private:
  std::function<nn::Optimizer()> make_;  // Empty: nothing was chosen.
};

}  // namespace shoal
