// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/attributes.h"

#include "shoal/base/error.h"

namespace shoal {
namespace {

std::string_view type_of(const Attribute& attribute) {
  struct Name {
    std::string_view operator()(int64_t) const { return "an integer"; }
    std::string_view operator()(double) const { return "a real"; }
    std::string_view operator()(bool) const { return "a bool"; }
    std::string_view operator()(const std::string&) const { return "a text"; }
    std::string_view operator()(const std::vector<int64_t>&) const { return "a list of integers"; }
  };
  return std::visit(Name(), attribute);
}

std::string names_of(const Attributes& attributes) {
  std::string names;
  for (const auto& [name, value] : attributes.values()) names += (names.empty() ? "" : ", ") + name;
  return names.empty() ? "none" : names;
}

/// Kernels and rules of a user's own ops ask, too, so that what is not there is an error like others of that program.
template <class T>
const T& get(const Attributes& attributes, std::string_view name) {
  const auto found = attributes.values().find(name);
  if (found == attributes.values().end()) {
    raise(invalid_argument("attribute \"" + std::string(name) +
                           "\" is asked for, and the node has: " + names_of(attributes)));
  }
  if (const T* value = std::get_if<T>(&found->second)) return *value;
  raise(type_mismatch("attribute \"" + std::string(name) + "\" is " + std::string(type_of(found->second)) +
                      ", and is asked for as " + std::string(type_of(Attribute(T())))));
}

}  // namespace

int64_t Attributes::get_int(std::string_view name) const { return get<int64_t>(*this, name); }
double Attributes::get_real(std::string_view name) const { return get<double>(*this, name); }
bool Attributes::get_bool(std::string_view name) const { return get<bool>(*this, name); }
const std::string& Attributes::get_string(std::string_view name) const { return get<std::string>(*this, name); }
const std::vector<int64_t>& Attributes::get_ints(std::string_view name) const {
  return get<std::vector<int64_t>>(*this, name);
}

}  // namespace shoal
