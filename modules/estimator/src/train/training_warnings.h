#pragma once
/// What the chief says once about training input that a cluster would waste (CONTRACT DS-17, DS-18, OE-4).
#include "shoal/base/log.h"
#include "shoal/data/dataset.h"
#include "shoal/estimator/run_config.h"

namespace shoal {

void warn_about_input(Logger& log, const data::Dataset& dataset, const RunConfig& config, bool has_max_steps);

}  // namespace shoal
