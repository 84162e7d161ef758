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

  bool empty() const { return values_.empty(); }
  size_t size() const { return values_.size(); }
  bool is_single() const { return size() == 1 && values_[0].first.empty(); }
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
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }

 private:
  std::vector<std::pair<std::string, Value>> values_;
};

}  // namespace shoal::nn
