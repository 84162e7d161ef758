// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A small table of text and numbers, from which a model can learn the labels.
#include <string>
#include <vector>

#include "shoal/data/dataset.h"

namespace shoal::testing {

/// 60 examples: "yes" are red ones with x above -1.5 and blue ones with x above 1.5, "no" are the others.
inline data::Dataset coloured_examples() {
  std::vector<float> x;
  std::vector<std::string> colour, label;
  for (int i = 0; i < 60; ++i) {
    x.push_back(float(i % 5) - 2);
    colour.push_back(i % 3 == 0 ? "red" : "blue");
    label.push_back((i % 3 == 0 ? 2 : -1) + x.back() > 0.5f ? "yes" : "no");
  }
  return data::Dataset::from_tensor_slices(
      {{"x", Tensor::of<float>({60}, x)}, {"colour", Tensor::of_strings({60}, colour)}}, Tensor::of_strings({60}, label));
}

}  // namespace shoal::testing
