#include <iostream>

#include "shoal/cli/cli.h"
#include "shoal/monitor/terminal.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);  // So that standard input comes in blocks.
  const shoal::cli::Terminals terminals{.output = shoal::monitor::output_is_terminal(),
                                        .errors = shoal::monitor::read_terminal().renews_lines};
  return shoal::cli::cli_main(argc, argv, std::cin, std::cout, std::cerr, terminals);
}
