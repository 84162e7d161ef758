// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Commands that shoal::run() offers beside the flags of a program: `./train launch ...`. Programs that link
/// shoal::tools have the commands of the program `shoal` (shoal/cli/tools.h).
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

/// Sets the commands: a command line whose first word is one of these names goes to `commands`, and the help of run() lists
/// the names. The object must not change afterwards. Call this function before run(), from one thread.
void set_program_commands(const ProgramCommands& commands);
/// The commands that were set; null if none were.
const ProgramCommands* program_commands();

}  // namespace shoal
