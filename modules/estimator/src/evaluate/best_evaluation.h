#pragma once
/// The best of the evaluations that a folder tells of.
#include <string>

#include "shoal/base/environment.h"
#include "shoal/estimator/metrics.h"

namespace shoal {

/// The evaluation with the lowest loss in the event files of `folder`, the first of those that are equal; `last` itself where
/// that is it, whose numbers are exact. Empty if no evaluation has a number for its loss. Evaluations that cannot be read are
/// passed over: this is for a report, which no training waits for.
Metrics best_evaluation(Environment& env, const std::string& folder, const Metrics& last);

}  // namespace shoal
