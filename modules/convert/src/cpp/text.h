// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Numbers, names and arrays as text of C++17.
#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"

namespace shoal::convert::cpp {

/// Returns the C++ type of a dtype: "float", "std::int64_t", ...
std::string_view type_text(DType dtype);
/// Returns a literal of exactly this number: "0x1.8p-3f", "INFINITY".
std::string float_text(float number);
std::string double_text(double number);
std::string int_text(int64_t number);
/// Returns a string literal of this text; bytes beyond ASCII are escaped.
std::string string_text(std::string_view text);
/// Returns the initializer of an array, elements between braces, in lines of a readable length.
std::string array_text(std::string_view type, std::span<const std::byte> bytes);
/// Returns an identifier made from a name: "dense/kernel" becomes "dense_kernel". Empty names become `otherwise`.
std::string identifier(std::string_view name, std::string_view otherwise);
/// Makes identifiers that all differ.
class Names {
 public:
  /// Returns identifier(name, otherwise), with a number appended if an earlier call has returned that identifier.
  std::string take(std::string_view name, std::string_view otherwise);

 private:
  std::set<std::string> taken_;
};
/// True if C++ accepts this as a name.
bool is_identifier(std::string_view name);
/// Returns a name that fits into a comment: without line breaks.
std::string comment_text(std::string_view name);
/// Joins texts with ", ".
std::string joined(const std::vector<std::string>& texts);

}  // namespace shoal::convert::cpp
