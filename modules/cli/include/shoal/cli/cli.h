// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program `shoal` as a function, so that tests can call it within their process.
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/cli/text_output.h"

namespace shoal::cli {

/// Tells which output streams of a program go to a terminal, where people read them.
struct Terminals {
  bool output = false;  ///< True: `out` goes to a terminal, so JSON is printed indented, over several lines.
  bool errors = false;  ///< True: `err` (standard error) goes to a terminal that can redraw lines.
  int columns = 80;     ///< The number of characters in a line.
};

/// Describes the program that offers the commands: `shoal`, or a user's program that links shoal::tools.
struct Self {
  std::string name = "shoal";  ///< The name of the program in help texts and errors.
  /// The executable file of a user's program that offers these commands. Its `launch` starts this same file, with the
  /// words after -- as flags. Empty for `shoal` itself, whose `launch` starts the program named after --.
  std::string program{};
};

/// The names of all commands: "launch", "status", ...
std::vector<std::string> command_names();

/// Reads the next bytes of standard input into the given range, and returns their number; 0 at the end. Waits only while
/// there are none.
using ReadInput = std::function<Result<size_t>(std::span<std::byte>)>;

/// Runs `shoal argv[1] ...`. Results go to `out` as JSON (one object, or one per line) or CSV, errors go to `err` as
/// sentences. `in` is standard input, which a command reads only if it is told to. Commands change no file that exists,
/// except that `plot` replaces a picture that it drew.
///
/// Returns the exit status: 0 for success; 2 wrong usage or configuration; 3 a loss that is not a number; 4 damaged data or
/// checkpoint; 5 deadline; 143 if a job or a search gave way to a signal and is to be started again; 1 for other errors.
int cli_main(int argc, const char* const* argv, const ReadInput& in, TextOutput& out, TextOutput& err,
             Terminals terminals = {}, const Self& self = {});

}  // namespace shoal::cli
