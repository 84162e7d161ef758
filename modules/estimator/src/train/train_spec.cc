// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/train_spec.h"

#include <algorithm>

namespace shoal {

Result<void> TrainSpec::check() const {
  if (!input_fn) {
    return type_mismatch("TrainSpec: input_fn: is missing; give a function that returns a Dataset of (features, labels)");
  }
  if (max_steps && *max_steps <= 0) {
    return invalid_argument("TrainSpec: max_steps: " + std::to_string(*max_steps) +
                            " is out of range, accepted is > 0, or None for no limit");
  }
  if (std::find(hooks.begin(), hooks.end(), nullptr) != hooks.end()) {
    return invalid_argument("TrainSpec: hooks: one of them is null");
  }
  if (std::find(saving_listeners.begin(), saving_listeners.end(), nullptr) != saving_listeners.end()) {
    return invalid_argument("TrainSpec: saving_listeners: one of them is null");
  }
  return {};
}

InputFn::InputFn(data::Dataset dataset) : call_([dataset = std::move(dataset)](const InputContext&) { return dataset; }) {}
data::Dataset InputFn::operator()(const InputContext& context) const { return call_(context); }

}  // namespace shoal
