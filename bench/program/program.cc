// SPDX-License-Identifier: Apache-2.0
#include "program.h"

#include <cstdio>
#include <cstdlib>

#include "shoal/base/environment.h"

namespace shoal::bench {

void parse_or_exit(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error) == 0 ? 0 : 2);
  }
}

int run_program(std::string_view name, const std::function<Result<void>()>& body) {
  Result<Result<void>> returned = call_user(name, body);
  const Result<void> outcome = returned ? std::move(returned).value() : Result<void>(std::move(returned).error());
  if (outcome) return 0;
  std::fprintf(stderr, "%s\n", outcome.error().message().c_str());
  return exit_status(outcome.error().kind());
}

}  // namespace shoal::bench
