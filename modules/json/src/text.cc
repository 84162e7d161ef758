// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/text.h"

namespace shoal::json {
namespace {

/// A value that is_discarded() if `text` is no JSON.
Json parse(std::string_view text) { return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false); }

}  // namespace

std::string text_of(const Json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

std::string text_of(const PrintedJson& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, PrintedJson::error_handler_t::replace);
}

std::string string_text(std::string_view text) { return text_of(Json(std::string(text))); }

Result<Json> parse_value(std::string_view text) {
  Json json = parse(text);
  if (json.is_discarded()) return data_loss("not JSON");
  return json;
}

PrintedJson parse_in_order(std::string_view text) {
  PrintedJson json = PrintedJson::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? PrintedJson(nullptr) : json;
}

Result<Json> parse_object(std::string_view text) {
  Json json = parse(text);
  if (!json.is_object()) return data_loss("not a JSON object");
  return json;
}

}  // namespace shoal::json
