// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The constants of a node: strides, a rate, an axis.
#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
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
  using Values = std::map<std::string, Attribute, std::less<>>;

  Attributes() = default;
  Attributes(std::initializer_list<std::pair<const std::string, Attribute>> values);

  bool has(std::string_view name) const;
  int64_t get_int(std::string_view name) const;
  double get_real(std::string_view name) const;
  bool get_bool(std::string_view name) const;
  const std::string& get_string(std::string_view name) const;
  const std::vector<int64_t>& get_ints(std::string_view name) const;
  // These take a value for where the name is missing: what later versions added is absent from older descriptions.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise) const;
  void set(std::string name, Attribute value);
  const Values& values() const;
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  // Never written to, so that copies share it: set() makes another one. Null: there are none. A member that is a map would
  // make every program that includes Shoal instantiate it.
  std::shared_ptr<const Values> values_;
};

}  // namespace shoal
