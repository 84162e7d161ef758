// SPDX-License-Identifier: Apache-2.0
// Reads records of plain fields (most records are plain) in one pass, without a search for separators first.
#include <array>
#include <charconv>
#include <cstring>
#include <type_traits>

#include "csv_record.h"

namespace shoal::data {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// Reads a short number such as "70", "-0.5" or "12.3456", several times as fast as std::from_chars. It begins with a digit
/// or with a minus and a digit. 12.3456 is computed as 123456 / 10000. If float32 holds both of these numbers exactly, only
/// the division rounds, so the result is the nearest float. Returns a pointer behind the number; null if it is too long for
/// this, or has an exponent. Source: Clinger, "How to read floating point numbers accurately" (1990).
const char* short_number(const char* at, const char* end, float& number) {
  constexpr uint32_t kExactMax = 1 << 24;
  constexpr std::array<float, 8> kPowers = {1e0f, 1e1f, 1e2f, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
  const bool minus = *at == '-';
  at += minus;
  uint32_t digits = 0;
  const auto take_digits = [&] {
    const char* const begin = at;
    for (; at != end && is_digit(*at) && digits <= kExactMax; ++at) digits = 10 * digits + uint32_t(*at - '0');
    return size_t(at - begin);
  };
  take_digits();
  size_t decimals = 0;
  if (at != end && *at == '.') {
    ++at;
    decimals = take_digits();
    if (decimals == 0 || decimals >= kPowers.size()) return nullptr;
  }
  const bool goes_on = at != end && (is_digit(*at) || *at == 'e' || *at == 'E');
  if (goes_on || digits > kExactMax) return nullptr;
  const float whole = float(digits) / kPowers[decimals];
  number = minus ? -whole : whole;
  return at;
}

}  // namespace

Tensor& CsvParser::tensor_for(size_t column, Element& element) {
  const Target& target = targets_[column];
  TensorMap& map = target.label ? element.labels : element.features;
  Tensor& tensor = (map.begin() + ptrdiff_t(target.index))->second;
  const DType dtype = options_.columns[column].dtype;
  if (tensor.dtype() != dtype || tensor.shape().rank() != 0 || !tensor.unique()) tensor = Tensor(dtype, Shape{});
  return tensor;
}

/// Finds the text of the field that begins at `at`; false if it has doubled quotes, or a quote that may be a mistake.
bool CsvParser::take_plain_text(const char*& at, const char* end, bool quotes, std::string_view& field) const {
  const bool quoted = quotes && at != end && *at == '"';
  const char* const begin = quoted ? at + 1 : at;
  const auto find = [end](const char* from, char c) {
    return from == end ? nullptr : static_cast<const char*>(std::memchr(from, c, size_t(end - from)));
  };
  const char* const stop = find(begin, quoted ? '"' : options_.separator);
  if (quoted && !stop) return false;
  field = std::string_view(begin, size_t((stop ? stop : end) - begin));
  if (quotes && !quoted && field.find('"') != std::string_view::npos) return false;
  at = field.data() + field.size() + quoted;
  return true;
}

/// Reads a number in digits that begins at `at`; false if there is none, or the type cannot hold it.
template <class T>
bool CsvParser::take_plain_number(const char*& at, const char* end, Tensor& tensor) const {
  if (at == end || !is_digit(*at == '-' && end - at > 1 ? at[1] : *at)) return false;
  T number{};
  const char* stop = nullptr;
  if constexpr (std::is_same_v<T, float>) stop = short_number(at, end, number);
  if (!stop) {
    const auto [behind, error] = std::from_chars(at, end, number);
    if (error != std::errc()) return false;
    stop = behind;
  }
  if (std::string_view(at, size_t(stop - at)) == options_.missing_text) return false;
  std::memcpy(const_cast<std::byte*>(tensor.view().data), &number, sizeof(number));  // No other tensor shares this memory.
  at = stop;
  return true;
}

bool CsvParser::take_plain_field(size_t column, const char*& at, const char* end, bool quotes, Element& element) {
  Tensor& tensor = tensor_for(column, element);
  std::string_view text;
  switch (tensor.dtype()) {
    case DType::kFloat32: return take_plain_number<float>(at, end, tensor);
    case DType::kInt64: return take_plain_number<int64_t>(at, end, tensor);
    case DType::kInt32: return take_plain_number<int32_t>(at, end, tensor);
    default: break;
  }
  if (!take_plain_text(at, end, quotes, text)) return false;
  const bool missing = text.empty() || text == options_.missing_text;
  if (targets_[column].label || (missing && options_.columns[column].missing)) return false;
  tensor.mutable_strings()[0].assign(missing ? std::string_view() : text);
  return true;
}

bool CsvParser::parse_plain(std::string_view record, Element& element) {
  if (!may_be_plain_ || record.find('\r') != std::string_view::npos) return false;
  const bool quotes = options_.quoting && record.find('"') != std::string_view::npos;
  const char* at = record.data();
  const char* const end = at + record.size();
  std::string_view passed_over;
  for (size_t i = 0; i < layout_.size(); ++i) {
    if (i > 0 && (at == end || *at++ != options_.separator)) return false;
    const bool used = layout_[i] != kPassedOver && targets_[layout_[i]].used;
    const bool taken =
        used ? take_plain_field(layout_[i], at, end, quotes, element) : take_plain_text(at, end, quotes, passed_over);
    if (!taken) return false;
  }
  return at == end;
}

}  // namespace shoal::data
