// SPDX-License-Identifier: Apache-2.0
#include "launch/emit/quoting.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "launch/job_tasks.h"
#include "shoal/base/check.h"
#include "shoal/base/names_text.h"

namespace shoal::cli::launch {
namespace {

/// The hexadecimal digits of a number, without "0x".
std::string hex(uint32_t number, int digits) {
  std::string text(size_t(digits), '0');
  for (size_t i = text.size(); i-- > 0; number /= 16) text[i] = "0123456789abcdef"[number % 16];
  return text;
}

bool is_control_sign(char c) { return uint8_t(c) < 0x20 || c == 0x7f; }

struct CodePoint {
  uint32_t value = 0;
  size_t bytes = 1;
};
/// The first code point of a text, which is UTF-8.
CodePoint first_of(std::string_view text) {
  const auto byte = [&](size_t i) { return uint32_t(uint8_t(text[i])); };
  const uint32_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  if (lead < 0xe0) return {(lead & 0x1f) << 6 | (byte(1) & 0x3f), 2};
  if (lead < 0xf0) return {(lead & 0x0f) << 12 | (byte(1) & 0x3f) << 6 | (byte(2) & 0x3f), 3};
  return {(lead & 0x07) << 18 | (byte(1) & 0x3f) << 12 | (byte(2) & 0x3f) << 6 | (byte(3) & 0x3f), 4};
}

/// Unicode's 66 code points that are no characters (section 23.7). systemd ignores a line that has one, as it ignores lines
/// that are no UTF-8.
bool is_noncharacter(uint32_t point) { return (point & 0xfffe) == 0xfffe || (point >= 0xfdd0 && point <= 0xfdef); }

/// Code points that YAML 1.2 (5.1) allows only as escapes, or reads as the end of a line.
bool needs_escape(uint32_t point) {
  static constexpr std::array<uint32_t, 5> kSome{0x2028, 0x2029, 0xfeff, 0xfffe, 0xffff};
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || std::ranges::find(kSome, point) != kSome.end();
}

}  // namespace

std::string yaml_text(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const auto [point, bytes] = first_of(text);
    if (point == '"' || point == '\\') {
      quoted += '\\';
      quoted += char(point);
    } else if (point == '\n') {
      quoted += "\\n";
    } else if (needs_escape(point)) {
      quoted += point < 0x100 ? "\\x" + hex(point, 2) : "\\u" + hex(point, 4);
    } else {
      quoted += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return quoted + "\"";
}

std::string yaml_list(const std::vector<std::string>& texts) { return "[" + comma_separated(texts, yaml_text) + "]"; }

std::string without_variables(std::string_view text) {
  std::string doubled;
  for (const char c : text) doubled.append(c == '$' ? 2 : 1, c);
  return doubled;
}

std::vector<std::string> without_variables(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& text : texts) all.push_back(without_variables(text));
  return all;
}

std::string bash_word(const std::string& text) {
  if (std::ranges::none_of(text, is_control_sign)) return shell_word(text);
  std::string quoted = "$'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') {
      quoted += '\\';
      quoted += c;
    } else if (is_control_sign(c)) {
      quoted += c == '\n' ? "\\n" : "\\x" + hex(uint8_t(c), 2);
    } else {
      quoted += c;
    }
  }
  return quoted + "'";
}

std::string unit_word(std::string_view text) {
  std::string quoted = "\"";
  while (!text.empty()) {
    const auto [point, bytes] = first_of(text);
    const char sign = text.front();
    if (point == '"' || point == '\\') {
      quoted += '\\';
      quoted += sign;
    } else if (point == '%') {
      quoted += "%%";
    } else if (point == '\n') {
      quoted += "\\n";
    } else if (is_control_sign(sign) || is_noncharacter(point)) {
      for (const char byte : text.substr(0, bytes)) quoted += "\\x" + hex(uint8_t(byte), 2);
    } else {
      quoted += text.substr(0, bytes);
    }
    text.remove_prefix(bytes);
  }
  return quoted + "\"";
}

bool has_noncharacter(std::string_view text) {
  for (; !text.empty(); text.remove_prefix(first_of(text).bytes)) {
    if (is_noncharacter(first_of(text).value)) return true;
  }
  return false;
}

std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string>> values) {
  std::string whole;
  for (;;) {
    const size_t begin = text.find('@');
    whole += text.substr(0, begin);
    if (begin == std::string_view::npos) return whole;
    const size_t end = text.find('@', begin + 1);
    const std::string_view name = text.substr(begin + 1, end - begin - 1);
    const auto* const value = std::ranges::find(values, name, [](const auto& named) { return named.first; });
    SHOAL_CHECK(end != std::string_view::npos && value != values.end());
    whole += value->second;
    text.remove_prefix(end + 1);
  }
}

}  // namespace shoal::cli::launch
