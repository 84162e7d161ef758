// SPDX-License-Identifier: Apache-2.0
#include "json_out.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "shoal/base/format.h"

namespace shoal::cli {
namespace {

/// JSON need not escape DEL and U+0080 to U+009F, but some terminals obey them. Returns the same JSON with escapes for them.
/// They can only be in the strings of `json`, since all else in JSON is ASCII without controls.
std::string with_escapes(const std::string& json) {
  std::string escaped;
  for (size_t i = 0; i < json.size(); ++i) {
    const bool is_c1 = json[i] == '\xc2' && i + 1 < json.size() && uint8_t(json[i + 1]) < 0xa0;
    if (is_c1) ++i;
    if (is_c1 || json[i] == '\x7f') {
      escaped += formatted("\\u%04x", unsigned(uint8_t(json[i])));
    } else {
      escaped += json[i];
    }
  }
  return escaped;
}

std::string in_one_line(const Json& json) { return with_escapes(shoal::json::text_of(json)); }

/// Writes JSON with indentation. Lists of numbers and words stay on one line.
void write_indented(TextOutput& out, const Json& json, size_t depth) {
  const bool plain_list =
      json.is_array() && std::none_of(json.begin(), json.end(), [](const Json& item) { return item.is_structured(); });
  if (!json.is_structured() || json.empty() || plain_list) {
    out << in_one_line(json);
    return;
  }
  const std::string space(2 * depth, ' ');
  const char* before = "\n";
  out << (json.is_array() ? '[' : '{');
  for (const auto& [key, item] : json.items()) {
    out << std::exchange(before, ",\n") << space << "  ";
    if (json.is_object()) out << in_one_line(Json(key)) << ": ";
    write_indented(out, item, depth + 1);
  }
  out << '\n' << space << (json.is_array() ? ']' : '}');
}

}  // namespace

Json unix_seconds(WallTime time) {
  // A double is precise enough for microseconds since 1970, but not for nanoseconds.
  return double(time.time_since_epoch() / std::chrono::microseconds(1)) / 1e6;
}

bool print_line(TextOutput& out, const Json& json) {
  const std::optional<std::string> text = shoal::json::utf8_text_of(json);
  out << (text ? with_escapes(*text) : in_one_line(json)) << '\n';
  return text.has_value();
}

void print(const Context& context, const Json& json) {
  if (!context.terminals.output) {
    static_cast<void>(print_line(context.out, json));
    return;
  }
  write_indented(context.out, json, 0);
  context.out << '\n';
}

}  // namespace shoal::cli
