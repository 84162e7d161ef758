// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON from outside (files, peers), read with checks: what is missing, of another type or out of range is DataLoss with a
/// sentence that names it, never an exception and never a number that was cut to fit.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/result.h"
#include "shoal/json/json.h"
#include "shoal/json/text.h"

namespace shoal::json {

/// True if a JSON string keeps every byte of `text`, which then is UTF-8.
bool is_utf8(std::string_view text);

/// `text` with what is no UTF-8 in it replaced, so that a JSON string keeps it.
std::string as_utf8(const std::string& text);

/// `"name" must be a list`. The value itself is not in the sentence: printing nested lists takes as much stack as they
/// nest.
Error must_be(std::string_view name, std::string_view wanted);

// A value at hand, which sentences call `name`.

Result<std::string> string_of(const Json& json, std::string_view name);

Result<bool> bool_of(const Json& json, std::string_view name);

Result<double> number_of(const Json& json, std::string_view name);

/// A whole number from `least` up to the largest that T holds, written without fraction or exponent.
template <class T>
Result<T> whole_of(const Json& json, std::string_view name, T least = std::numeric_limits<T>::min()) {
  if (!json.is_number_integer()) return must_be(name, "a whole number");
  const bool in_range =
      json.is_number_unsigned() ? std::in_range<T>(json.get<uint64_t>()) : std::in_range<T>(json.get<int64_t>());
  if (in_range && json.get<T>() >= least) return json.get<T>();
  return must_be(name, "a whole number from " + std::to_string(least) + " to " +
                           std::to_string(std::numeric_limits<T>::max()) + ", and is " + text_of(json));
}

Result<const Json*> list_of(const Json& json, std::string_view name);

Result<const Json*> object_of(const Json& json, std::string_view name);

/// An element of the list that sentences call `name`.
Result<const Json*> element(const Json& list, size_t index, std::string_view name);

// A member of an object. The pointers live as long as `object`.

/// DataLoss also where `object` is none.
Result<const Json*> member(const Json& object, std::string_view name);

Result<std::string> string_member(const Json& object, std::string_view name);

Result<bool> bool_member(const Json& object, std::string_view name);

Result<double> number_member(const Json& object, std::string_view name);

template <class T>
Result<T> whole_member(const Json& object, std::string_view name, T least = std::numeric_limits<T>::min()) {
  SHOAL_TRY(const Json* value, member(object, name));
  return whole_of<T>(*value, name, least);
}

Result<const Json*> list_member(const Json& object, std::string_view name);

Result<const Json*> object_member(const Json& object, std::string_view name);

}  // namespace shoal::json
