// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON from outside (files, peers), read with checks: what is missing, of another type or out of range is DataLoss with a
/// sentence that names it, never an exception and never a number that was cut to fit.
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <utility>

#include "shoal/base/result.h"
#include "shoal/base/utf8.h"
#include "shoal/json/text.h"

namespace shoal::json {

/// The type is not ordered_json: its objects copy their members as they grow, to any depth that the text has, by
/// recursion.
using Json = nlohmann::json;

/// True if a JSON string keeps every byte of `text`, which then is UTF-8.
inline bool is_utf8(std::string_view text) { return !find_no_utf8(text); }

/// `text` with what is no UTF-8 in it replaced, so that a JSON string keeps it.
inline std::string as_utf8(const std::string& text) {
  if (is_utf8(text)) return text;
  const Json back = Json::parse(string_text(text), nullptr, /*allow_exceptions=*/false);
  return back.is_string() ? back.get<std::string>() : std::string();
}

/// DataLoss "not a JSON object" unless `text` is one.
inline Result<Json> parse_object(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded() || !json.is_object()) return data_loss("not a JSON object");
  return json;
}

/// `"name" must be a list`. The value itself is not in the sentence: printing nested lists takes as much stack as they
/// nest.
inline Error must_be(std::string_view name, std::string_view wanted) {
  return data_loss("\"" + std::string(name) + "\" must be " + std::string(wanted));
}

// A value at hand, which sentences call `name`.

inline Result<std::string> string_of(const Json& json, std::string_view name) {
  if (!json.is_string()) return must_be(name, "a string");
  return json.get_ref<const std::string&>();
}

inline Result<bool> bool_of(const Json& json, std::string_view name) {
  if (!json.is_boolean()) return must_be(name, "true or false");
  return json.get<bool>();
}

inline Result<double> number_of(const Json& json, std::string_view name) {
  if (!json.is_number()) return must_be(name, "a number");
  return json.get<double>();
}

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

inline Result<const Json*> list_of(const Json& json, std::string_view name) {
  if (!json.is_array()) return must_be(name, "a list");
  return &json;
}

inline Result<const Json*> object_of(const Json& json, std::string_view name) {
  if (!json.is_object()) return must_be(name, "an object");
  return &json;
}

/// An element of the list that sentences call `name`.
inline Result<const Json*> element(const Json& list, size_t index, std::string_view name) {
  if (!list.is_array() || index >= list.size())
    return must_be(name, "a list of at least " + std::to_string(index + 1) + " elements");
  return &list[index];
}

// A member of an object. The pointers live as long as `object`.

/// DataLoss also where `object` is none.
inline Result<const Json*> member(const Json& object, std::string_view name) {
  if (!object.is_object()) return data_loss("an object was expected where \"" + std::string(name) + "\" is looked for");
  const auto at = object.find(name);
  if (at == object.end()) return data_loss("\"" + std::string(name) + "\" is missing");
  return &*at;
}

inline Result<std::string> string_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return string_of(*value, name);
}

inline Result<bool> bool_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return bool_of(*value, name);
}

inline Result<double> number_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return number_of(*value, name);
}

template <class T>
Result<T> whole_member(const Json& object, std::string_view name, T least = std::numeric_limits<T>::min()) {
  SHOAL_TRY(const Json* value, member(object, name));
  return whole_of<T>(*value, name, least);
}

inline Result<const Json*> list_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return list_of(*value, name);
}

inline Result<const Json*> object_member(const Json& object, std::string_view name) {
  SHOAL_TRY(const Json* value, member(object, name));
  return object_of(*value, name);
}

}  // namespace shoal::json
