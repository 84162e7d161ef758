// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds inputs of ops that have optional inputs. The attribute "inputs" of such an op lists the names of the inputs that
/// are present, in order, separated by blanks ("projection recurrent_kernel lengths").
#include <string_view>

#include "shoal/graph/attributes.h"

namespace shoal {

/// The position of the input with this name among a node's inputs; -1 if the node lacks it.
inline int find_input(const Attributes& attributes, std::string_view name) {
  std::string_view list = attributes.get_string("inputs");
  for (int position = 0; !list.empty(); ++position) {
    const size_t length = list.find(' ');
    if (list.substr(0, length) == name) return position;
    list.remove_prefix(length == std::string_view::npos ? list.size() : length + 1);
  }
  return -1;
}

}  // namespace shoal
