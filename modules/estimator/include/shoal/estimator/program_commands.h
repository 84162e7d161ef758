// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Commands that a program on run() has beside its flags: `./train launch ...`. Programs that link shoal::tools have those of the program
/// `shoal` (shoal/cli/tools.h).
#include <string>
#include <string_view>
#include <vector>

namespace shoal {

struct ProgramCommands {
  std::vector<std::string> names;
  /// Runs the command that argv[1] names. Returns the exit status.
  int (*run)(int argc, const char* const* argv);

  bool has(std::string_view word) const;
};

/// run() gives a command line whose first word is one of these names to them, and lists the names in its help. `commands` is never
/// changed afterwards. Call it before run(), from one thread.
void set_program_commands(const ProgramCommands& commands);
/// What was set; null if nothing was.
const ProgramCommands* program_commands();

}  // namespace shoal
