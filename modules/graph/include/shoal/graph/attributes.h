// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The attributes of a node: constants such as strides, a rate or an axis.
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

/// Attributes by name, ordered and comparable. If a name is missing, getters raise InvalidArgument and list the names that
/// exist. If the value has another type, they raise TypeMismatch.
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
  // These getters return `otherwise` if the name is missing, since graph descriptions of older versions lack attributes
  // that later versions added.
  int64_t get_int(std::string_view name, int64_t otherwise) const;
  std::vector<int64_t> get_ints(std::string_view name, std::vector<int64_t> otherwise) const;
  void set(std::string name, Attribute value);
  const Values& values() const;
  friend bool operator==(const Attributes& a, const Attributes& b);

 private:
  // The map never changes, so copies share it: set() makes a new map. Null: there are no attributes. The member is a
  // pointer, so that the files that include Shoal need not instantiate the code of a map.
  std::shared_ptr<const Values> values_;
};

}  // namespace shoal
