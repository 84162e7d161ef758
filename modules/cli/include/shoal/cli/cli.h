// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The `shoal` program as a function, so that tests call it in process.
#include <iosfwd>
#include <string>
#include <vector>

namespace shoal::cli {

/// Which of a program's streams people look at as they come.
struct Terminals {
  bool output = false;  ///< Of `out`: JSON may take several lines.
  bool errors = false;  ///< Of `err`, which is standard error, and takes what renews lines (monitor/terminal.h).
  int columns = 80;     ///< How many characters fit into a line.
};

/// Whose command line it is.
struct Self {
  std::string name = "shoal";  ///< The program, as help and errors call it.
  /// The file of a program on shoal::run() that has these commands: `launch` launches it, and the words behind -- are its flags. Empty
  /// for `shoal` itself, which launches what stands behind --.
  std::string program{};
};

/// "launch", "status", ...
std::vector<std::string> command_names();

/// Runs `shoal argv[1] ...`: results as JSON on `out` (one object, or one per line) or CSV, errors as sentences on `err`.
/// `in` is standard input, which only commands read that are told to.
/// Returns the exit status (CONTRACT FA-10). Reads files and changes none, but for `keys`, which writes new ones, and
/// `launch`, which runs a job.
int cli_main(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err,
             Terminals terminals = {}, const Self& self = {});

}  // namespace shoal::cli
