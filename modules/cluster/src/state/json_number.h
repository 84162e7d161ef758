#pragma once
/// Numbers of JSON that came over the network: nlohmann::json converts silently what does not fit, this refuses it.
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/result.h"

namespace shoal::cluster {

/// `json` as a T. Raises InvalidArgument unless it is a whole number in T's range.
template <class T>
T whole_number(const nlohmann::json& json) {
  if (json.is_number_unsigned()) {
    const auto value = json.get<uint64_t>();
    if (std::in_range<T>(value)) return T(value);
  } else if (json.is_number_integer()) {
    const auto value = json.get<int64_t>();
    if (std::in_range<T>(value)) return T(value);
  }
  raise(invalid_argument(std::string("expected a whole number in range, got ") +
                         (json.is_number() ? json.dump() : json.type_name())));
}

/// The same for the member `name` of an object.
template <class T>
T whole_number(const nlohmann::json& json, std::string_view name) {
  return whole_number<T>(json.at(std::string(name)));
}

}  // namespace shoal::cluster
