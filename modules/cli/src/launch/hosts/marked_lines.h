// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a script says among what its program prints (scripts.h).
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

/// Takes a stream apart: lines that begin with the mark, wherever on a line it stands, are the script's. The program's last
/// line may have no end when the script begins to speak.
class MarkedLines {
 public:
  static constexpr size_t kLineBytesMax = size_t(1) << 20;

  explicit MarkedLines(std::string mark) : mark_(std::move(mark)) {}

  /// What the program printed, as far as that is clear. Sentences of the script, without mark and end, come to `said`. One
  /// that is longer than kLineBytesMax is cut.
  std::string take(std::string_view bytes, std::vector<std::string>& said);
  /// The stream has ended: what is left is the program's.
  std::string finish();

 private:
  std::string mark_;
  std::string held_{};  // Begins with a mark, or is what may become one.
};

}  // namespace shoal::cli::launch
