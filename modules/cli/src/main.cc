#include <iostream>

#include "shoal/cli/cli.h"

int main(int argc, char** argv) {
  std::ios::sync_with_stdio(false);  // So that standard input comes in blocks.
  return shoal::cli::cli_main(argc, argv, std::cin, std::cout, std::cerr);
}
