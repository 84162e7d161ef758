// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Graph values by name: features, labels, predictions. data::TensorMap does the same for tensors.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::nn {

/// Values by name, in byte order of the names. A single value without a name has the name "".
class ValueMap {
 public:
  ValueMap() = default;
  /// A map with a single value without a name; an invalid Value makes an empty map.
  ValueMap(Value value);  // NOLINT: a Value converts to a map with one entry
  ValueMap(std::initializer_list<std::pair<std::string, Value>> values);

  bool empty() const { return size() == 0; }
  size_t size() const;
  bool is_single() const;
  /// Adds a value, or replaces the value with this name.
  void set(std::string name, Value value);
  /// The value with this name. Null if there is none.
  const Value* find(std::string_view name) const;
  /// The value with this name. If there is none, raises InvalidArgument and lists the names.
  Value operator[](std::string_view name) const;
  /// The only value. If there are several, raises InvalidArgument and lists the names.
  Value single() const;
  /// Returns "a, b, c", for errors.
  std::string names() const;
  const std::pair<std::string, Value>* begin() const;
  const std::pair<std::string, Value>* end() const;

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace shoal::nn
