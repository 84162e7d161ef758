// SPDX-License-Identifier: Apache-2.0
#include "shoal/cli/tools.h"

#include <string>

#include "shoal/estimator/program_commands.h"
#include "this_program.h"
#include "tool_main.h"

namespace shoal {
namespace {

int run_command(int argc, const char* const* argv) {
  const std::string file = cli::file_of_this_program(argv[0]);
  return cli::tool_main(argc, argv, {.name = file.substr(file.rfind('/') + 1), .program = file});
}

}  // namespace

bool use_tools() {
  set_program_commands({.names = cli::command_names(), .run = &run_command});
  return true;
}

}  // namespace shoal
