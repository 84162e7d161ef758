// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The hook that records images while training.
#include <memory>
#include <vector>

#include "shoal/estimator/hook.h"
#include "shoal/estimator/image_summary.h"

namespace shoal {

/// Records the images with the first step and then every so many, as summary_saver() does the other summaries.
std::shared_ptr<Hook> image_saver(std::vector<ImageSummary> summaries, int64_t every_steps);

}  // namespace shoal
