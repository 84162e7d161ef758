// SPDX-License-Identifier: Apache-2.0
#include "tool_main.h"

int main(int argc, char** argv) { return shoal::cli::tool_main(argc, argv); }
