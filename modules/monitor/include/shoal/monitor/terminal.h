#pragma once
/// Standard error, for programs: what it is, and the way to it. Looked up where a program begins; the rest gets it
/// passed in.
#include <string_view>

namespace shoal::monitor {

struct Terminal {
  /// True for a terminal that can go back in its line. False for a file, a pipe, a dumb terminal.
  bool renews_lines = false;
  int columns = 80;  ///< 80 if it does not say.
};
/// What standard error is now.
Terminal read_terminal();

/// Writes at once, unbuffered.
void write_to_stderr(std::string_view text);

}  // namespace shoal::monitor
