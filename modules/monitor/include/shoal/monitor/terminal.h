// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Facts about standard output and standard error, and a way to write to the latter. A program reads the facts at its start
/// and passes them to the code that needs them.
#include <string_view>

namespace shoal::monitor {

struct Terminal {
  /// True for a terminal that can rewrite its line. False for a file, a pipe, a dumb terminal.
  bool renews_lines = false;
  /// False if this process runs in the background of its terminal, where another process writes.
  bool in_foreground = true;
  int columns = 80;  ///< The width of the terminal; 80 if it is unknown.
  int lines = 24;    ///< The height of the terminal; 24 if it is unknown.
};
/// Reads the present state of standard error.
Terminal read_terminal();

/// Properties of standard output, for programs that draw on it.
struct DrawingTerminal {
  bool is_terminal = false;    ///< Standard output is a terminal.
  bool renews_lines = false;   ///< The terminal can rewrite its line.
  bool takes_colours = false;  ///< The terminal is not dumb, and NO_COLOR is not set (https://no-color.org).
  int columns = 80;            ///< The width of the terminal; 80 if it is unknown.
  int lines = 24;              ///< The height of the terminal; 24 if it is unknown.
};
/// Reads the present state of standard output.
DrawingTerminal read_output_terminal();

/// True if standard output is a terminal, so that people read it as it is written.
bool output_is_terminal();

/// Writes `text` to standard error at once, unbuffered. What a terminal does not take at once, since it was stopped by
/// Ctrl-S or its connection hangs, is lost: training does not wait for it.
void write_to_stderr(std::string_view text);

}  // namespace shoal::monitor
