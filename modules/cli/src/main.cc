// SPDX-License-Identifier: Apache-2.0
#include <iostream>
#include <string_view>

#include "shoal/base/exhaustion.h"
#include "shoal/base/standard_descriptors.h"
#include "shoal/base/write_signals.h"
#include "shoal/cli/cli.h"
#include "shoal/monitor/terminal.h"

int main(int argc, char** argv) {
  // A reader of what is printed that has gone ends a filter, as ever; tasks of a job go on. Never destroyed, since what is left
  // to print is written after main().
  const bool launches = argc > 1 && std::string_view(argv[1]) == "launch";
  static const auto& write_errors = *new shoal::WriteSignalsAsErrors({.pipe = launches});
  static_cast<void>(write_errors);
  static const auto& exhaustion_errors = *new shoal::ExhaustionAsError;
  static_cast<void>(exhaustion_errors);
  static const auto& standard_descriptors = *new shoal::StandardDescriptors;
  static_cast<void>(standard_descriptors);
  std::ios::sync_with_stdio(false);  // So that standard input comes in blocks.
  const shoal::cli::Terminals terminals{.output = shoal::monitor::output_is_terminal(),
                                        .errors = shoal::monitor::read_terminal().renews_lines};
  return shoal::cli::cli_main(argc, argv, std::cin, std::cout, std::cerr, terminals);
}
