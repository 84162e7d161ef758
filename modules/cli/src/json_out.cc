// SPDX-License-Identifier: Apache-2.0
#include "json_out.h"

#include <algorithm>
#include <utility>

namespace shoal::cli {
namespace {

std::string in_one_line(const Json& json) { return shoal::json::text_of(json); }

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
  out << (text ? *text : in_one_line(json)) << '\n';
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
