// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The hook that records images while training.
#include <memory>
#include <vector>

#include "shoal/estimator/hook.h"
#include "shoal/estimator/image_summary.h"

namespace shoal {

/// Records the images at the first step and then every `every_steps` global steps, as summary_saver() does scalars.
std::shared_ptr<Hook> image_saver(std::vector<ImageSummary> summaries, int64_t every_steps);

}  // namespace shoal
