#include "csv_number.h"

#include <algorithm>
#include <array>
#include <charconv>

namespace shoal::data {
namespace {

constexpr std::string_view kDigits = "0123456789";

bool has_digits(std::string_view field) { return field.find_first_of(kDigits) != std::string_view::npos; }

std::string without(std::string_view field, std::string_view characters) {
  std::string text(field);
  std::erase_if(text, [characters](char c) { return characters.find(c) != std::string_view::npos; });
  return text;
}

/// "0x1F" as "31"; nothing for what is no such number.
std::optional<std::string> hexadecimal(std::string_view field) {
  const bool minus = field.starts_with('-');
  if (minus || field.starts_with('+')) field.remove_prefix(1);
  if (!field.starts_with("0x") && !field.starts_with("0X")) return std::nullopt;
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(field.data() + 2, field.data() + field.size(), value, 16);
  if (error != std::errc() || end != field.data() + field.size()) return std::nullopt;
  return (minus ? "-" : "") + std::to_string(value);
}

/// Whether `mark` stands before each group of three digits, and nowhere else, up to `end`.
bool groups_thousands(std::string_view field, char mark, size_t end) {
  const size_t first = field.find(mark);
  if (first == std::string_view::npos || first == 0 || first > 4) return false;
  for (size_t at = first; at < end; at += 4) {
    if (field[at] != mark || end - at < 4) return false;
    if (field.substr(at + 1, 3).find_first_not_of(kDigits) != std::string_view::npos) return false;
  }
  return true;
}

/// "1,234.5" and "1.234,5" as "1234.5", "50,5" as "50.5". Where a comma may be either, both.
std::optional<std::string> with_a_point(std::string_view field) {
  const size_t comma = field.rfind(','), point = field.rfind('.');
  const auto number = [](std::string text) {
    std::replace(text.begin(), text.end(), ',', '.');
    return number_from<double>(text.starts_with('+') ? std::string_view(text).substr(1) : text) ? std::optional(text)
                                                                                                : std::nullopt;
  };
  if (comma == std::string_view::npos) return std::nullopt;
  if (point != std::string_view::npos) return number(without(field, point > comma ? "," : "."));
  const bool grouped = groups_thousands(field, ',', field.size());
  if (std::count(field.begin(), field.end(), ',') > 1) return grouped ? number(without(field, ",")) : std::nullopt;
  const auto fraction = number(std::string(field));
  return grouped && fraction ? number(without(field, ",")).value_or("") + " or " + *fraction : fraction;
}

bool is_any_of(std::string_view field, std::initializer_list<std::string_view> words) {
  return std::any_of(words.begin(), words.end(), [field](std::string_view word) {
    return std::equal(field.begin(), field.end(), word.begin(), word.end(),
                      [](char a, char b) { return (a >= 'A' && a <= 'Z' ? char(a - 'A' + 'a') : a) == b; });
  });
}

/// The hint for a field that is a number, but not one of `dtype`.
std::string type_hint(double number, std::string_view field, DType dtype) {
  if (dtype == DType::kFloat32) return "; it is beyond the range of float32";
  if (std::isnan(number) || std::isinf(number)) return "; a column with such values has to be float32";
  if (number != std::trunc(number)) return "; it has a fraction, so the column has to be float32";
  const bool exact = field.find_first_of(".eE") == std::string_view::npos;
  return "; it is beyond the range of " +
         std::string(dtype == DType::kInt64 && !exact ? "what is read exactly, 2^53" : to_string(dtype));
}

}  // namespace

std::string number_hint(std::string_view field, DType dtype) {
  if (const auto number = field_number<double>(field)) return type_hint(*number, field, dtype);
  const std::string packed = without(field, " \t");
  if (packed.size() < field.size() && field_number<double>(packed)) {
    const bool around = std::string_view(field).find(packed) != std::string_view::npos;
    return around ? "; blanks around it count, unless trim_blanks (--trim) is set"
                  : "; numbers are read without blanks: " + packed;
  }
  if (const auto decimal = hexadecimal(field)) return "; numbers are read in decimal: " + *decimal;
  if (const auto text = with_a_point(packed)) {
    return "; numbers are read with a point, and without marks between thousands: " + *text;
  }
  const std::string bare = without(packed, "_'");
  if (bare.size() < packed.size() && field_number<double>(bare)) {
    return "; numbers are read without marks between thousands: " + bare;
  }
  if (is_any_of(field, {"true", "false", "yes", "no"})) return "; write 1 and 0 for it, or let the column be text";
  if (!has_digits(field)) return "; if that says that it is missing, let missing_text (--missing) be that text";
  const std::string number = without(packed, "%$");
  if (number.size() < packed.size() && field_number<double>(number)) return "; numbers are read without a unit: " + number;
  return "";
}

}  // namespace shoal::data
