// SPDX-License-Identifier: Apache-2.0
#include "shoal/json/text.h"

namespace shoal::json {
namespace {

/// DataLoss, naming the byte, if `text` has a zero byte, which the library would take for the end of the text.
Result<void> check_no_zero_byte(std::string_view text) {
  const size_t zero = text.find('\0');
  if (zero == std::string_view::npos) return {};
  return data_loss("not JSON at byte " + std::to_string(zero + 1) + ": a zero byte");
}

/// Returns a value for which is_discarded() is true if `text` is not JSON.
Json parse(std::string_view text) { return Json::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false); }

}  // namespace

std::string text_of(const Json& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, Json::error_handler_t::replace);
}

std::string text_of(const PrintedJson& value, int indent, bool ascii) {
  return value.dump(indent, ' ', ascii, PrintedJson::error_handler_t::replace);
}

std::optional<std::string> utf8_text_of(const PrintedJson& value) {
  constexpr std::string_view kReplacement =
      "\xEF\xBF\xBD";  // U+FFFD, which the library writes for bytes that are not UTF-8.
  std::string text = text_of(value);
  if (text.find(kReplacement) == std::string::npos) return text;
  // The value may have this character itself. Left out instead of replaced, wrong bytes change the text.
  if (value.dump(-1, ' ', false, PrintedJson::error_handler_t::ignore) == text) return text;
  return std::nullopt;
}

std::string string_text(std::string_view text) { return text_of(Json(std::string(text))); }

Result<Json> parse_value(std::string_view text) {
  SHOAL_TRY_VOID(check_no_zero_byte(text));
  Json json = parse(text);
  if (json.is_discarded()) return data_loss("not JSON");
  return json;
}

PrintedJson parse_in_order(std::string_view text) {
  if (!check_no_zero_byte(text)) return nullptr;
  PrintedJson json = PrintedJson::parse(text.begin(), text.end(), nullptr, /*allow_exceptions=*/false);
  return json.is_discarded() ? PrintedJson(nullptr) : json;
}

Result<Json> parse_object(std::string_view text) {
  SHOAL_TRY_VOID(check_no_zero_byte(text));
  Json json = parse(text);
  if (!json.is_object()) return data_loss("not a JSON object");
  return json;
}

}  // namespace shoal::json
