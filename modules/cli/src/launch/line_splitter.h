// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lines out of a stream of bytes, in bounded memory.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

/// Longer lines come in pieces of this many bytes.
inline constexpr size_t kLineBytesMax = size_t(64) * 1024;

class LineSplitter {
 public:
  /// The lines that `bytes` complete, without their ends ("\n", "\r\n", and "\r" alone, as progress bars have it).
  std::vector<std::string> take(std::string_view bytes);
  /// What is left at the end of the stream, if it is not empty: a line without an end.
  std::vector<std::string> finish();

 private:
  std::string line_;
  bool ended_ = false;  // By a "\r" or its length: a "\n" that comes next is no other line.
};

}  // namespace shoal::cli::launch
