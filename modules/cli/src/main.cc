#include <iostream>

#include "shoal/cli/cli.h"

int main(int argc, char** argv) { return shoal::cli::cli_main(argc, argv, std::cout, std::cerr); }
