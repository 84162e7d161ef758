// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The `shoal` program as a function, so that tests call it in process.
#include <iosfwd>

namespace shoal::cli {

/// Which of a program's streams people look at as they come.
struct Terminals {
  bool output = false;  ///< Of `out`: JSON may take several lines.
  bool errors = false;  ///< Of `err`, which is standard error, and takes what renews lines (monitor/terminal.h).
};

/// Runs `shoal argv[1] ...`: results as JSON on `out` (one object, or one per line) or CSV, errors as sentences on `err`.
/// `in` is standard input, which only commands read that are told to.
/// Returns the exit status (CONTRACT FA-10). Reads files and changes none, but for `keys`, which writes new ones, and
/// `launch`, which runs a job.
int cli_main(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err,
             Terminals terminals = {});

}  // namespace shoal::cli
