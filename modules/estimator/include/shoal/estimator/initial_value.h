// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a variable starts where that is not what its layer says (EstimatorSpec::initial_values).
#include <utility>
#include <variant>

#include "shoal/base/tensor.h"
#include "shoal/nn/initializers.h"

namespace shoal {

/// An initializer, or the values themselves, which have the type and the shape of the variable.
class InitialValue {
 public:
  InitialValue(nn::InitializerSpec initializer) : value_(initializer) {}  // NOLINT: an initializer is one, here and below
  InitialValue(Initializer initializer) : value_(nn::InitializerSpec(initializer)) {}  // NOLINT
  InitialValue(Tensor values) : value_(std::move(values)) {}                           // NOLINT

  /// Null if these are values.
  const nn::InitializerSpec* initializer() const { return std::get_if<nn::InitializerSpec>(&value_); }
  /// Null if this is an initializer.
  const Tensor* values() const { return std::get_if<Tensor>(&value_); }

 private:
  std::variant<nn::InitializerSpec, Tensor> value_;
};

}  // namespace shoal
