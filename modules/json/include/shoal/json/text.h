// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Functions that write JSON values as text and read them from text. All of Shoal writes JSON with these functions, because
/// the library's own dump() throws an exception for bytes that are not UTF-8.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// Writes `value` in one line, or with each level indented by `indent` blanks. Bytes that are not UTF-8 become U+FFFD. If a
/// text has to read back unchanged, check it first (shoal/base/utf8.h), or store it as exact_text() (exact.h).
std::string text_of(const Json& value, int indent = -1, bool ascii = false);
std::string text_of(const PrintedJson& value, int indent = -1, bool ascii = false);

/// Writes `value` in one line; nothing if it has a text that is not UTF-8.
std::optional<std::string> utf8_text_of(const PrintedJson& value);

/// Returns `text` as a JSON string, with quotes.
std::string string_text(std::string_view text);

/// Reads `text`, which must be one JSON value. Any other text gives the error DataLoss "not JSON". A zero byte is an
/// error, too, which names the byte's position.
Result<Json> parse_value(std::string_view text);

/// Reads `text` and keeps the order of its members. A text that is not JSON gives null. Callers pass only what programs of the
/// same user wrote; json.h says why a text from elsewhere is not read as a PrintedJson.
PrintedJson parse_in_order(std::string_view text);

/// Reads `text`, which must be one JSON object. Any other text gives the error DataLoss "not a JSON object", or that
/// of parse_value() for a zero byte.
Result<Json> parse_object(std::string_view text);

}  // namespace shoal::json
