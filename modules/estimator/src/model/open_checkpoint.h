// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/checkpoint/reader.h"

namespace shoal {

/// The checkpoint that evaluation and prediction use: `prefix`, else the newest of `model_dir`, else null (no checkpoint
/// anywhere: the initialized model). DataLoss if the `checkpoint` file leads to nothing loadable.
Result<std::unique_ptr<checkpoint::Reader>> open_checkpoint(Environment& env, const std::string& model_dir,
                                                            const std::optional<std::string>& prefix);

}  // namespace shoal
