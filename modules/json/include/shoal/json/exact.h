// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of any bytes and numbers of any kind in JSON, so that they come back as they were. JSON itself has UTF-8 and finite
/// numbers only.
#include <cmath>
#include <string>
#include <string_view>

#include "shoal/base/base64.h"
#include "shoal/json/fields.h"

namespace shoal::json {

/// A string, or {"base64": ...} for bytes that are no UTF-8.
inline Json exact_text(std::string_view text) {
  if (is_utf8(text)) return Json(std::string(text));
  return Json{{"base64", to_base64(text)}};
}

inline Result<std::string> exact_text_of(const Json& json, std::string_view name) {
  if (!json.is_object()) return string_of(json, name);
  SHOAL_TRY(const std::string encoded, string_member(json, "base64"));
  const std::optional<std::string> bytes = from_base64(encoded);
  if (!bytes) return must_be("base64", "base64");
  return *bytes;
}

/// A number, or one of "nan", "inf" and "-inf".
inline Json exact_number(double number) {
  if (std::isfinite(number)) return Json(number);
  return Json(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

inline Result<double> exact_number_of(const Json& json, std::string_view name) {
  if (!json.is_string()) return number_of(json, name);
  const std::string& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "-inf") return text == "inf" ? HUGE_VAL : -HUGE_VAL;
  return must_be(name, "a number");
}

/// DataLoss unless `text` is one JSON value.
inline Result<Json> parse_value(std::string_view text) {
  Json json = Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) return data_loss("not JSON");
  return json;
}

}  // namespace shoal::json
