// SPDX-License-Identifier: Apache-2.0
#include "cpp/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/format.h"

namespace shoal::convert::cpp {
namespace {

constexpr std::array<std::string_view, 97> kKeywords = {
    "alignas",     "alignof",   "and",       "and_eq",    "asm",      "auto",         "bitand",
    "bitor",       "bool",      "break",     "case",      "catch",    "char",         "char16_t",
    "char32_t",    "char8_t",   "class",     "compl",     "concept",  "const",        "const_cast",
    "consteval",   "constexpr", "constinit", "continue",  "co_await", "co_return",    "co_yield",
    "decltype",    "default",   "delete",    "do",        "double",   "dynamic_cast", "else",
    "enum",        "explicit",  "export",    "extern",    "false",    "float",        "for",
    "friend",      "goto",      "if",        "inline",    "int",      "long",         "mutable",
    "namespace",   "new",       "noexcept",  "not",       "not_eq",   "nullptr",      "operator",
    "or",          "or_eq",     "private",   "protected", "public",   "register",     "reinterpret_cast",
    "requires",    "return",    "short",     "signed",    "sizeof",   "static",       "static_assert",
    "static_cast", "struct",    "switch",    "template",  "this",     "thread_local", "throw",
    "true",        "try",       "typedef",   "typeid",    "typename", "union",        "unsigned",
    "using",       "virtual",   "void",      "volatile",  "wchar_t",  "while",        "xor",
    "xor_eq",      "std",       "INFINITY",  "NAN",       "main",     "errno"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }
/// Names without a small letter may be macros of a standard header, as NULL is.
bool may_be_macro(std::string_view name) {
  return name.size() > 1 && std::none_of(name.begin(), name.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}
bool is_keyword(std::string_view name) {
  return may_be_macro(name) || std::find(kKeywords.begin(), kKeywords.end(), name) != kKeywords.end();
}

template <class T>
T element_of(std::span<const std::byte> bytes, size_t i) {
  T value;
  std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
  return value;
}

using ElementText = std::string (*)(std::span<const std::byte> bytes, size_t i);
template <class T>
std::string integer_text(std::span<const std::byte> bytes, size_t i) {
  return int_text(int64_t(element_of<T>(bytes, i)));
}

/// The text form of elements of a type, and their size in bytes.
std::pair<ElementText, size_t> elements_of(std::string_view type) {
  if (type == "float")
    return {[](std::span<const std::byte> bytes, size_t i) { return float_text(element_of<float>(bytes, i)); }, 4};
  if (type == "std::int64_t") return {&integer_text<int64_t>, 8};
  if (type == "std::int32_t") return {&integer_text<int32_t>, 4};
  if (type == "std::int8_t") return {&integer_text<int8_t>, 1};
  if (type == "std::uint8_t") return {&integer_text<uint8_t>, 1};
  SHOAL_CHECK(type == "bool");
  return {[](std::span<const std::byte> bytes, size_t i) {
            return std::string(element_of<uint8_t>(bytes, i) != 0 ? "true" : "false");
          },
          1};
}

}  // namespace

std::string_view type_text(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "float";
    case DType::kInt32: return "std::int32_t";
    case DType::kInt64: return "std::int64_t";
    case DType::kUInt8: return "std::uint8_t";
    case DType::kBool: return "bool";
    default: SHOAL_CHECK(false);
  }
}

std::string float_text(float number) {
  if (std::isnan(number)) return "NAN";
  if (std::isinf(number)) return number > 0 ? "INFINITY" : "-INFINITY";
  return formatted("%a", double(number)) + "f";
}

std::string double_text(double number) {
  if (std::isnan(number)) return "double(NAN)";
  if (std::isinf(number)) return number > 0 ? "double(INFINITY)" : "-double(INFINITY)";
  return formatted("%a", number);
}

std::string int_text(int64_t number) {
  if (number == std::numeric_limits<int64_t>::min()) return "(-9223372036854775807 - 1)";
  return std::to_string(number);
}

std::string string_text(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    const bool plain = c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '?';  // "??" would begin a trigraph.
    result += plain ? std::string(1, c) : formatted("\\%03o", unsigned(static_cast<unsigned char>(c)));
  }
  return result + "\"";
}

std::string array_text(std::string_view type, std::span<const std::byte> bytes) {
  constexpr size_t kLineMax = 120;
  const auto [text_of, size] = elements_of(type);
  std::string result = "{", line = "\n   ";
  for (size_t i = 0; i < bytes.size() / size; ++i) {
    const std::string element = " " + text_of(bytes, i) + ",";
    if (line.size() + element.size() > kLineMax) {
      result += line;
      line = "\n   ";
    }
    line += element;
  }
  line.pop_back();
  return result + line + "}";
}

std::string identifier(std::string_view name, std::string_view otherwise) {
  std::string result;
  for (const char c : name) {
    const bool fits = is_letter(c) || is_digit(c);
    if (fits || result.empty() || result.back() != '_')
      result += fits ? c : '_';  // Adds no second underscore in a row: such names are reserved for the compiler.
  }
  while (result.find("__") != std::string::npos) result.erase(result.find("__"), 1);
  if (result.empty() || result == "_") return std::string(otherwise);
  if (is_digit(result[0]) || result[0] == '_') result = std::string(otherwise) + (result[0] == '_' ? "" : "_") + result;
  return is_keyword(result) ? result + "_" : result;
}

std::string Names::take(std::string_view name, std::string_view otherwise) {
  const std::string wanted = identifier(name, otherwise);
  std::string free = wanted;
  for (int i = 1; !taken_.insert(free).second; ++i) free = wanted + "_" + std::to_string(i);
  return free;
}

bool is_identifier(std::string_view name) { return !name.empty() && identifier(name, "x") == name; }

std::string comment_text(std::string_view name) {
  std::string result;
  for (const char c : name) result += c >= 0 && c < ' ' ? ' ' : c;
  // A backslash at the end would continue the comment in the next line.
  while (!result.empty() && result.back() == '\\') result.pop_back();
  return result;
}

std::string joined(const std::vector<std::string>& texts) {
  std::string result;
  for (const std::string& text : texts) result += (result.empty() ? "" : ", ") + text;
  return result;
}

}  // namespace shoal::convert::cpp
