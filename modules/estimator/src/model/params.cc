// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/params.h"

#include "shoal/base/error.h"

namespace shoal {
namespace {

template <class T>
const T& as(std::string_view name, const Params::Item& item, std::string_view type) {
  if (const T* value = std::get_if<T>(&item)) return *value;
  raise(type_mismatch("param " + std::string(name) + " is no " + std::string(type)));
}

}  // namespace

Params::Params(std::initializer_list<Entry> entries) {
  for (const Entry& entry : entries) set(entry.name, entry.item);
}

void Params::raise_too_large(std::string_view name, uint64_t value) {
  raise(invalid_argument("param " + std::string(name) + " is " + std::to_string(value) + ", and integers go to " +
                         std::to_string(INT64_MAX)));
}

const Params::Item& Params::find(std::string_view name) const {
  const auto found = items_.find(name);
  if (found != items_.end()) return found->second;
  std::string names;
  for (const auto& [other, item] : items_) names += (names.empty() ? "" : ", ") + other;
  raise(not_found("no param " + std::string(name) + "; there are: " + (names.empty() ? "none" : names)));
}

int64_t Params::get_int(std::string_view name) const { return as<int64_t>(name, find(name), "integer"); }
bool Params::get_bool(std::string_view name) const { return as<bool>(name, find(name), "flag (true or false)"); }
const std::string& Params::get_string(std::string_view name) const { return as<std::string>(name, find(name), "text"); }
const std::vector<int64_t>& Params::get_ints(std::string_view name) const {
  return as<std::vector<int64_t>>(name, find(name), "list of integers");
}
const std::vector<std::string>& Params::get_strings(std::string_view name) const {
  return as<std::vector<std::string>>(name, find(name), "list of texts");
}
std::vector<double> Params::get_reals(std::string_view name) const {
  const Item& item = find(name);
  if (const auto* integers = std::get_if<std::vector<int64_t>>(&item)) return {integers->begin(), integers->end()};
  return as<std::vector<double>>(name, item, "list of numbers");
}
double Params::get_real(std::string_view name) const {
  const Item& item = find(name);
  if (const int64_t* value = std::get_if<int64_t>(&item)) return double(*value);
  return as<double>(name, item, "number");
}

}  // namespace shoal
