// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program of another project. Its main() would be: return shoal::run(argc, argv, program);
#include "shoal/estimator/run_config.h"

void program(shoal::RunConfig config);
