// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program `shoal` as a function, so that tests can call it within their process.
#include <iosfwd>
#include <string>
#include <vector>

namespace shoal::cli {

/// Which output streams of a program go to a terminal, where people read along.
struct Terminals {
  bool output = false;  ///< `out` goes to a terminal: JSON may take several lines.
  bool errors = false;  ///< `err`, which is standard error, goes to a terminal that can redraw lines (monitor/terminal.h).
  int columns = 80;     ///< The number of characters in a line.
};

/// The program that has the commands.
struct Self {
  std::string name = "shoal";  ///< The name of the program in help texts and errors.
  /// The file of a program on shoal::run() that has these commands: `launch` launches this program, and the words behind --
  /// are its flags. Empty for `shoal` itself, which launches the program behind --.
  std::string program{};
};

/// The names of all commands: "launch", "status", ...
std::vector<std::string> command_names();

/// Runs `shoal argv[1] ...`. Results go to `out` as JSON (one object, or one per line) or CSV, errors go to `err` as
/// sentences. `in` is standard input, which a command reads only if it is told to. Commands do not change existing files:
/// `keys` writes new ones, and `launch` runs a job.
///
/// Returns the exit status: 0 for success; 2 wrong usage or configuration; 3 a loss that is not a number; 4 damaged data or
/// checkpoint; 5 deadline; 1 for other errors.
int cli_main(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err,
             Terminals terminals = {}, const Self& self = {});

}  // namespace shoal::cli
