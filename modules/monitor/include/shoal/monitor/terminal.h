// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Standard output and error, for programs: what they are, and the way to the second. Looked up where a program begins; the
/// rest gets it passed in.
#include <string_view>

namespace shoal::monitor {

struct Terminal {
  /// True for a terminal that can go back in its line. False for a file, a pipe, a dumb terminal.
  bool renews_lines = false;
  /// False for a process in the background of the terminal that it belongs to: somebody else writes there.
  bool in_foreground = true;
  int columns = 80;  ///< 80 if it does not say.
  int lines = 24;    ///< 24 if it does not say.
};
/// What standard error is now.
Terminal read_terminal();

/// Standard output, as far as something is drawn on it.
struct DrawingTerminal {
  bool is_terminal = false;    ///< People read standard output as it comes.
  bool renews_lines = false;   ///< As Terminal::renews_lines.
  bool takes_colours = false;  ///< A terminal that is not dumb, and the variable NO_COLOR is not set (https://no-color.org).
  int columns = 80;            ///< 80 if it does not say.
  int lines = 24;              ///< 24 if it does not say.
};
/// What standard output is now.
DrawingTerminal read_output_terminal();

/// Whether people read standard output as it comes.
bool output_is_terminal();

/// Writes at once, unbuffered.
void write_to_stderr(std::string_view text);

}  // namespace shoal::monitor
