// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the text files in which the kernel tells about itself (/proc, /sys).
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/number_text.h"
#include "shoal/base/split_text.h"

namespace shoal {

/// Reads a file line by line. If the file cannot be read, there are no lines.
class KernelFile {
 public:
  explicit KernelFile(const std::string& path);
  ~KernelFile();
  KernelFile(const KernelFile&) = delete;
  KernelFile& operator=(const KernelFile&) = delete;

  /// The next line, without the character that ends it; nothing at the end. The view is valid until the next call.
  std::optional<std::string_view> line();

 private:
  std::FILE* const file_;
  char* line_ = nullptr;
  size_t capacity_ = 0;
};

/// Reads the first `count` words of a file's first line as numbers. An element is empty if its word is missing or no number,
/// and all are empty if the file cannot be read.
template <class T>
std::vector<std::optional<T>> numbers_in(const std::string& path, size_t count) {
  std::vector<std::optional<T>> numbers(count);
  KernelFile file(path);
  const std::vector<std::string_view> words = split_at_blanks(file.line().value_or(""));
  for (size_t i = 0; i < count && i < words.size(); ++i) numbers[i] = number_from<T>(words[i]);
  return numbers;
}

}  // namespace shoal
