// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Splits a stream of bytes into lines, in bounded memory.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

/// A longer line is split into pieces of this many bytes.
inline constexpr size_t kLineBytesMax = size_t(64) * 1024;

class LineSplitter {
 public:
  /// The lines that `bytes` complete, without their ends. Ends are "\n", "\r\n", and "\r" alone, which progress bars use.
  std::vector<std::string> take(std::string_view bytes);
  /// Call it at the end of the stream. Returns the last line if it has no line end; else nothing.
  std::vector<std::string> finish();

 private:
  std::string line_;
  bool ended_ = false;  // The last line ended by a "\r" or by its length, so a "\n" that comes next makes no further line.
};

}  // namespace shoal::cli::launch
