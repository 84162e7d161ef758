// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The constants of a node: strides, a rate, an axis.
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace shoal {

using Attribute = std::variant<int64_t, double, bool, std::string, std::vector<int64_t>>;

/// Attributes by name, ordered, comparable. Getters raise InvalidArgument, listing the names, where one is missing, and TypeMismatch
/// where it is of another type.
class Attributes {
 public:
  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> values) : values_(values) {}

  bool has(std::string_view name) const { return values_.find(name) != values_.end(); }
  int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;
  bool get_bool(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  // These take a value for where the name is missing: what later versions added is absent from older descriptions.
  int64_t get_int(std::string_view name, int64_t otherwise) const { return has(name) ? get_int(name) : otherwise; }
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise) const {
    return has(name) ? get_ints(name) : std::move(otherwise);
  }
  void set(std::string name, Attribute value) { values_.insert_or_assign(std::move(name), std::move(value)); }
  const std::map<std::string, Attribute, std::less<>>& values() const { return values_; }
  friend bool operator==(const Attributes&, const Attributes&) = default;

 private:
  std::map<std::string, Attribute, std::less<>> values_;
};

}  // namespace shoal
