// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The initial contents of a variable, instead of those from its layer's initializer (EstimatorSpec::initial_values).

#include <memory>

#include "shoal/base/tensor.h"
#include "shoal/nn/initializers.h"

namespace shoal {

/// An initializer, or values of the type and the shape of the variable.
class InitialValue {
 public:
  InitialValue(nn::InitializerSpec initializer);  // NOLINT: implicit conversions, here and below
  InitialValue(Initializer initializer);          // NOLINT
  InitialValue(Tensor values);                    // NOLINT

  /// The initializer; null if this object has values.
  const nn::InitializerSpec* initializer() const { return initializer_.get(); }
  /// The values; null if this object has an initializer.
  const Tensor* values() const { return values_.get(); }

 private:
  // Exactly one of these members is set.
  std::shared_ptr<const nn::InitializerSpec> initializer_;
  std::shared_ptr<const Tensor> values_;
};

}  // namespace shoal
