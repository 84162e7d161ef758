// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Graph values by name: features, labels, predictions. What data::TensorMap is for tensors.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Values by name, in byte order of the names. A lone value has the name "".
class ValueMap {
 public:
  ValueMap() = default;
  /// A lone value; an invalid one makes an empty map.
  ValueMap(Value value);  // NOLINT: a value is one
  ValueMap(std::initializer_list<std::pair<std::string, Value>> values);

  bool empty() const { return size() == 0; }
  size_t size() const;
  bool is_single() const;
  /// Replaces the value of that name, if there is one.
  void set(std::string name, Value value);
  /// The value of that name. Null if there is none.
  const Value* find(std::string_view name) const;
  /// The value of that name. Raises InvalidArgument listing the names that are there if it is missing.
  Value operator[](std::string_view name) const;
  /// The lone value. Raises InvalidArgument listing the names if this is a map of several.
  Value single() const;
  /// "a, b, c", for error sentences.
  std::string names() const;
  const std::pair<std::string, Value>* begin() const;
  const std::pair<std::string, Value>* end() const;

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace shoal::nn
