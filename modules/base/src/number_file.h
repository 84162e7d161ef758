// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads numbers from files of /proc and /sys.
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/number_text.h"

namespace shoal {

/// Reads the first `count` words of a file as numbers. An element is empty if its word is missing or no number, and all are
/// empty if the file cannot be read.
template <class T>
std::vector<std::optional<T>> numbers_in(const std::string& path, size_t count) {
  std::ifstream file(path);
  std::vector<std::optional<T>> numbers(count);
  std::string word;
  for (size_t i = 0; i < count && file >> word; ++i) numbers[i] = number_from<T>(word);
  return numbers;
}

}  // namespace shoal
