// SPDX-License-Identifier: Apache-2.0
#include "shoal/cli/tools.h"

#include <sys/auxv.h>

#include <string>

#include "shoal/estimator/program_commands.h"
#include "tool_main.h"

namespace shoal {
namespace {

/// The file that this process runs, under the name with which it was started, since /proc may be missing. A name without a
/// folder would be looked for in PATH.
std::string file_of_this_program(const char* called) {
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  const std::string file = started ? started : called;
  return file.find('/') == std::string::npos ? "./" + file : file;
}

int run_command(int argc, const char* const* argv) {
  const std::string file = file_of_this_program(argv[0]);
  return cli::tool_main(argc, argv, {.name = file.substr(file.rfind('/') + 1), .program = file});
}

}  // namespace

bool use_tools() {
  set_program_commands({.names = cli::command_names(), .run = &run_command});
  return true;
}

}  // namespace shoal
