// SPDX-License-Identifier: Apache-2.0
// Reads and writes parameters as texts of `shoal tune --param`: parse_parameter(), text_of(Parameter).
#include <algorithm>
#include <cmath>

#include "shoal/base/format.h"
#include "shoal/base/number_text.h"
#include "shoal/search/space.h"

namespace shoal::tuning {
namespace {

constexpr size_t kNameBytesMax = 200;
constexpr size_t kSpecBytesMax = size_t(64) * 1024;
constexpr size_t kChoicesMax = 10'000;
constexpr int64_t kPointsMax = 100'000;
constexpr std::string_view kIf = " if ";

std::string in_quotes(std::string_view text) { return "\"" + std::string(text) + "\""; }

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

bool is_name(std::string_view name) {
  return !name.empty() && name.size() <= kNameBytesMax && name.front() != '-' &&
         std::ranges::all_of(
             name, [](unsigned char c) { return c == '-' || c == '_' || c == '.' || (c < 0x80 && std::isalnum(c) != 0); });
}

/// Splits a text at each '|'. InvalidArgument if a part is empty or occurs twice.
Result<std::vector<std::string>> alternatives(std::string_view text, std::string_view what) {
  std::vector<std::string> values;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find('|', begin), text.size());
    const std::string value(trimmed(text.substr(begin, end - begin)));
    if (value.empty()) {
      return invalid_argument(std::string(what) + " number " + std::to_string(values.size() + 1) + " of " +
                              in_quotes(text) + " is empty; write values with one | between them, as in relu|tanh");
    }
    if (std::ranges::find(values, value) != values.end()) {
      return invalid_argument(std::string(what) + " " + in_quotes(value) + " is there twice in " + in_quotes(text) +
                              "; leave one out");
    }
    if (values.size() == kChoicesMax) return invalid_argument("there are more than 10,000 values; leave some out");
    values.push_back(value);
    begin = end + 1;
  }
  return values;
}

Result<double> end_of_range(std::string_view text, std::string_view range) {
  const std::optional<double> number = number_from<double>(text);
  if (number && std::isfinite(*number)) return *number;
  return invalid_argument(in_quotes(text) + " in the range " + in_quotes(range) +
                          " is no number; write a range as 1e-4..1e-1 or 16..256:int");
}

Result<int64_t> whole_end_of_range(std::string_view text, std::string_view range) {
  if (const std::optional<int64_t> number = number_from<int64_t>(text)) return *number;
  return invalid_argument(in_quotes(text) + " in the range " + in_quotes(range) +
                          " is no whole number, which :int asks for; write 16..256:int");
}

/// Reads the words that follow the numbers of a range: "int", "log", or a count of points.
Result<void> read_words(std::string_view words, std::string_view range, Parameter& parameter) {
  while (!words.empty()) {
    words.remove_prefix(1);  // The colon.
    const std::string_view word = words.substr(0, words.find(':'));
    words.remove_prefix(word.size());
    const std::optional<int64_t> points = number_from<int64_t>(word);
    if (word == "int") {
      parameter.kind = Parameter::Kind::kInteger;
    } else if (word == "log") {
      parameter.logarithmic = true;
    } else if (points && *points >= 1 && *points <= kPointsMax) {
      parameter.points = *points;
    } else {
      return invalid_argument(in_quotes(word) + " behind a colon of the range " + in_quotes(range) +
                              " is unknown; there may be int, log, and for a grid the count of points from 1 to 100000");
    }
  }
  return {};
}

Result<void> check_range(const Parameter& parameter, std::string_view range) {
  const bool whole = parameter.kind == Parameter::Kind::kInteger;
  if (whole ? parameter.least >= parameter.largest : parameter.low >= parameter.high) {
    return invalid_argument("the range " + in_quotes(range) +
                            " must begin below its end; for a constant write the one value");
  }
  if (parameter.logarithmic && (whole ? parameter.least < 1 : parameter.low <= 0)) {
    return invalid_argument("the range " + in_quotes(range) +
                            " must begin above 0, since its scale is logarithmic; leave :log out or begin "
                            "with a larger number");
  }
  if (!whole && !std::isfinite(parameter.high - parameter.low)) {
    return invalid_argument("the range " + in_quotes(range) + " is wider than the largest number; write a narrower one");
  }
  return {};
}

Result<void> read_range(std::string_view spec, size_t dots, Parameter& parameter) {
  parameter.kind = Parameter::Kind::kReal;
  const size_t colon = std::min(spec.find(':', dots), spec.size());
  SHOAL_TRY_VOID(read_words(spec.substr(colon), spec, parameter));
  const std::string_view low = spec.substr(0, dots), high = spec.substr(dots + 2, colon - dots - 2);
  if (parameter.kind == Parameter::Kind::kInteger) {
    SHOAL_TRY(parameter.least, whole_end_of_range(low, spec));
    SHOAL_TRY(parameter.largest, whole_end_of_range(high, spec));
  } else {
    SHOAL_TRY(parameter.low, end_of_range(low, spec));
    SHOAL_TRY(parameter.high, end_of_range(high, spec));
  }
  return check_range(parameter, spec);
}

Result<Condition> read_condition(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == std::string_view::npos || !is_name(name)) {
    return invalid_argument("the condition " + in_quotes(text) +
                            " is no OTHER=VALUE|VALUE; write it as in momentum=0.8..0.99 if optimizer=sgd");
  }
  SHOAL_TRY(std::vector<std::string> values, alternatives(trimmed(text.substr(equals + 1)), "value"));
  return Condition{.name = std::string(name), .values = std::move(values)};
}

/// A text with two dots is a range, unless a bar or a slash makes it a list of texts or a path.
bool is_range(std::string_view spec, size_t dots) {
  return dots != std::string_view::npos && spec.find_first_of("|/") == std::string_view::npos;
}

Result<void> read_spec(std::string_view spec, Parameter& parameter) {
  if (const size_t condition = spec.rfind(kIf); condition != std::string_view::npos) {
    SHOAL_TRY(parameter.condition, read_condition(trimmed(spec.substr(condition + kIf.size()))));
    spec = trimmed(spec.substr(0, condition));
  }
  if (const size_t dots = spec.find(".."); is_range(spec, dots)) return read_range(spec, dots, parameter);
  SHOAL_TRY(parameter.choices, alternatives(spec, "value"));
  return {};
}

std::string joined(const std::vector<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text.append(text.empty() ? "" : "|").append(value);
  return text;
}

}  // namespace

Result<Parameter> parse_parameter(std::string_view text) {
  const size_t equals = std::min(text.find('='), text.size());
  const std::string_view name = trimmed(text.substr(0, equals));
  if (equals == text.size()) {
    return invalid_argument(in_quotes(text.substr(0, kNameBytesMax)) +
                            " is no NAME=VALUES; write it as in learning-rate=1e-4..1e-1:log");
  }
  if (!is_name(name)) {
    return invalid_argument(in_quotes(name.substr(0, kNameBytesMax)) +
                            " is no name of a parameter; write the name of the program's flag " +
                            "without its dashes, as in learning-rate=1e-4..1e-1:log");
  }
  if (text.size() > kSpecBytesMax)
    return invalid_argument(std::string(name) + ": the values have more than 65536 bytes; shorten them");
  Parameter parameter{.name = std::string(name)};
  if (auto read = read_spec(trimmed(text.substr(equals + 1)), parameter); !read)
    return std::move(read).error().with_context(name);
  return parameter;
}

std::string text_of(const Parameter& parameter) {
  std::string text = parameter.name + "=";
  if (parameter.kind == Parameter::Kind::kChoice) {
    text += joined(parameter.choices);
  } else if (parameter.kind == Parameter::Kind::kInteger) {
    text += std::to_string(parameter.least) + ".." + std::to_string(parameter.largest) + ":int";
  } else {
    text += text_of(parameter.low) + ".." + text_of(parameter.high);
  }
  if (parameter.logarithmic) text += ":log";
  if (parameter.points > 0) text += ":" + std::to_string(parameter.points);
  if (parameter.condition)
    text.append(kIf).append(parameter.condition->name).append("=").append(joined(parameter.condition->values));
  return text;
}

}  // namespace shoal::tuning
