// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Separates the reports of a script from the output of the program that the script runs (scripts.h).
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

/// Splits a stream: text from a mark to the end of the line belongs to the script, all other text to the program. A mark
/// may stand anywhere on a line, since the program's last line may have no end when the script reports something.
class MarkedLines {
 public:
  static constexpr size_t kLineBytesMax = size_t(1) << 20;

  explicit MarkedLines(std::string mark) : mark_(std::move(mark)) {}

  /// Returns the bytes that surely belong to the program. Puts the script's reports, without mark and line end, into
  /// `said`. A report longer than kLineBytesMax is cut.
  std::string take(std::string_view bytes, std::vector<std::string>& said);
  /// Call it at the end of the stream: returns the rest, which is the program's.
  std::string finish();

 private:
  std::string mark_;
  std::string held_{};  // Text that begins with a mark or with a part of a mark.
};

}  // namespace shoal::cli::launch
