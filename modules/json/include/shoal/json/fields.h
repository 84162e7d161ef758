// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads JSON from outside (files, peers) with checks. A missing value, a value of the wrong type or a number out of range
/// gives DataLoss, whose sentence names the value. No function throws an exception or cuts a number to fit.
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/result.h"
#include "shoal/json/json.h"
#include "shoal/json/text.h"

namespace shoal::json {

/// True if `text` is UTF-8, so that a JSON string keeps all its bytes.
bool is_utf8(std::string_view text);

/// Returns `text` with bytes that are not UTF-8 replaced, so that a JSON string can hold it.
std::string as_utf8(const std::string& text);

/// Makes the error `"name" must be a list`. The sentence does not contain the value, because printing nested lists needs a
/// deep stack.
Error must_be(std::string_view name, std::string_view wanted);

// The functions below convert a JSON value that the caller passes. Error sentences call this value `name`.

Result<std::string> string_of(const Json& json, std::string_view name);

Result<bool> bool_of(const Json& json, std::string_view name);

Result<double> number_of(const Json& json, std::string_view name);

/// Reads a whole number. It has to be written without fraction or exponent, and to be at least `least` and fit T.
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

/// Returns the element at `index` of a list. Error sentences call the list `name`.
Result<const Json*> element(const Json& list, size_t index, std::string_view name);

// The functions below read a member of an object. Returned pointers live as long as `object`.

/// DataLoss if `object` is not a JSON object or has no member `name`.
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
