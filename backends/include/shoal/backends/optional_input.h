// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Optional inputs. The attribute "inputs" of a node names those that are present (shoal/graph/named_inputs.h).
#include <cstdint>
#include <string_view>

#include "shoal/backends/kernel.h"
#include "shoal/graph/named_inputs.h"

namespace shoal::backends {

class OptionalInput {
 public:
  OptionalInput(const KernelRequest& request, std::string_view name)
      : position_(find_input(request.node.attributes, name)) {}

  /// The elements of the input; null if it was left out.
  const float* floats(const KernelCall& call) const { return data<float>(call); }
  const int64_t* integers(const KernelCall& call) const { return data<int64_t>(call); }

 private:
  template <class T>
  const T* data(const KernelCall& call) const {
    return position_ < 0 ? nullptr : reinterpret_cast<const T*>(call.inputs[size_t(position_)].data);
  }
  int position_;
};

}  // namespace shoal::backends
