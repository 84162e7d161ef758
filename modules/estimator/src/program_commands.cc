// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/program_commands.h"

#include <algorithm>
#include <optional>

namespace shoal {
namespace {

std::optional<ProgramCommands>& commands_of_program() {
  // Never destroyed, because the program's help may use it after main().
  static auto& commands = *new std::optional<ProgramCommands>;
  return commands;
}

}  // namespace

bool ProgramCommands::has(std::string_view word) const {
  return std::find(names.begin(), names.end(), word) != names.end();
}

void set_program_commands(const ProgramCommands& commands) { commands_of_program() = commands; }

const ProgramCommands* program_commands() {
  const auto& commands = commands_of_program();
  return commands ? &*commands : nullptr;
}

}  // namespace shoal
