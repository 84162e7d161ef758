// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Separates the reports of a script from the output of the program that the script runs (scripts.h).
#include <string>
#include <string_view>
#include <vector>

namespace shoal::cli::launch {

/// Splits a stream into which a program and the script that runs it both write. The script's reports begin with a mark, a
/// random word, and last to the end of the line; all other text is the program's. A mark may stand in the middle of a line,
/// since the program may not have ended its line when the script reports something.
class MarkedLines {
 public:
  static constexpr size_t kLineBytesMax = size_t(1) << 20;

  explicit MarkedLines(std::string mark) : mark_(std::move(mark)) {}

  /// Takes the next bytes of the stream, and returns those that the program wrote. Appends the reports that the script
  /// wrote to `said`, without mark_ and the line end; cuts a report longer than kLineBytesMax. Keeps bytes that may be the
  /// beginning of a report until the next call.
  std::string take(std::string_view bytes, std::vector<std::string>& said);
  /// Call it at the end of the stream. Returns the bytes that take() still keeps because they could have become a report.
  /// No report was completed, so they count as text of the program.
  std::string finish();

 private:
  std::string mark_;
  std::string held_{};  // An incomplete report, or bytes that may be the beginning of mark_.
};

}  // namespace shoal::cli::launch
