// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hash of all that a checkpoint holds, for programs whose trainings are compared.
#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/checkpoint/reader.h"

namespace shoal::testing {

struct CheckpointBits {
  struct Variable {
    std::string name;
    RandomKey bits;
  };
  std::vector<Variable> variables;  ///< Ascending by name.
  RandomKey all{0};
};

/// Reads the checkpoint back. Raises the reader's error if it cannot be read.
inline CheckpointBits checkpoint_bits(Storage& storage, const std::string& prefix) {
  const auto reader = value_or_raise(checkpoint::Reader::open(storage, prefix));
  std::vector<std::string> names;
  for (const auto& tensor : reader->manifest().tensors) names.push_back(tensor.name);
  std::ranges::sort(names);
  CheckpointBits found;
  for (const std::string& name : names) {
    const Tensor tensor = value_or_raise(reader->read_tensor(name));
    const std::string_view bytes(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
    found.all = fold_in(fold_in(found.all, name), bytes);
    found.variables.push_back({name, fold_in(RandomKey(0), bytes)});
  }
  return found;
}

}  // namespace shoal::testing
