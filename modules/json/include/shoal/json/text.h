// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON values as text, and text as JSON values. Everything that writes JSON calls these functions, because the library's own
/// dump() throws an exception for bytes that are not UTF-8.
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/json/json.h"

namespace shoal::json {

/// `value` in one line, or with each level indented by so many blanks. Bytes that are not UTF-8 become U+FFFD. A text that
/// has to be read back unchanged is checked before (shoal/base/utf8.h), or is an exact_text() (exact.h).
std::string text_of(const Json& value, int indent = -1, bool ascii = false);
std::string text_of(const PrintedJson& value, int indent = -1, bool ascii = false);

/// `text` as a JSON string, with its quotes.
std::string string_text(std::string_view text);

/// DataLoss "not JSON" unless `text` is one JSON value.
Result<Json> parse_value(std::string_view text);

/// A text that Shoal wrote, with its members in the order in which they stand there; null if it is no JSON.
PrintedJson parse_in_order(std::string_view text);

/// DataLoss "not a JSON object" unless `text` is one.
Result<Json> parse_object(std::string_view text);

}  // namespace shoal::json
