// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/exact.h"

#include <cmath>
#include <optional>

#include "shoal/base/base64.h"
#include "shoal/json/fields.h"

namespace shoal::json {

Json exact_text(std::string_view text) {
  if (is_utf8(text)) return Json(std::string(text));
  return Json{{"base64", to_base64(text)}};
}

Result<std::string> exact_text_of(const Json& json, std::string_view name) {
  if (!json.is_object()) return string_of(json, name);
  SHOAL_TRY(const std::string encoded, string_member(json, "base64"));
  const std::optional<std::string> bytes = from_base64(encoded);
  if (!bytes) return must_be("base64", "base64");
  return *bytes;
}

Json exact_number(double number) {
  if (std::isfinite(number)) return Json(number);
  return Json(std::isnan(number) ? "nan" : number > 0 ? "inf" : "-inf");
}

Result<double> exact_number_of(const Json& json, std::string_view name) {
  if (!json.is_string()) return number_of(json, name);
  const std::string& text = json.get_ref<const std::string&>();
  if (text == "nan") return std::nan("");
  if (text == "inf" || text == "-inf") return text == "inf" ? HUGE_VAL : -HUGE_VAL;
  return must_be(name, "a number");
}

}  // namespace shoal::json
