// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JSON values as text. Everything that writes JSON calls these functions, because the library's own dump() throws an exception
/// for bytes that are not UTF-8.
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace shoal::json {

/// `value` in one line, or with each level indented by so many blanks. Bytes that are not UTF-8 become U+FFFD. A text that
/// has to be read back unchanged is checked before (shoal/base/utf8.h), or is an exact_text() (exact.h).
template <class AnyJson>
std::string text_of(const AnyJson& value, int indent = -1, bool ascii = false) {
  return value.dump(indent, ' ', ascii, AnyJson::error_handler_t::replace);
}

/// `text` as a JSON string, with its quotes.
inline std::string string_text(std::string_view text) { return text_of(nlohmann::json(std::string(text))); }

}  // namespace shoal::json
