// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The files that bench/input reads, all in one folder. Those of a list have the same contents in several parts, so that two
/// threads, or two worker processes, can read a part each. peers.py has the same names.
#include <cstdint>
#include <string>
#include <vector>

namespace shoal::bench {

constexpr int kParts = 4;
constexpr int64_t kSide = 28;           ///< Images in memory, and in tf.Example records, have 28x28 pixels.
constexpr int64_t kRowValues = 64;      ///< Floats of a row in memory, and of a tf.Example record.
constexpr int64_t kNumberColumns = 20;  ///< Columns of the table of numbers.

/// "numbers-0.csv" and so on, in `folder`.
inline std::vector<std::string> parts_of(const std::string& folder, const std::string& name, const std::string& end) {
  std::vector<std::string> paths;
  for (int i = 0; i < kParts; ++i) paths.push_back(folder + "/" + name + "-" + std::to_string(i) + end);
  return paths;
}

/// Writes all files but the JPEG files, of about `megabytes` each (of all parts together). The same numbers each time.
void make_files(const std::string& folder, int64_t megabytes);

}  // namespace shoal::bench
