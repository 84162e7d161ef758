// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <optional>
#include <string>

#include "shoal/base/environment.h"
#include "shoal/checkpoint/reader.h"
#include "shoal/estimator/estimator.h"

namespace shoal {

/// Opens the checkpoint that evaluation and prediction use: `prefix`, else the newest one of `model_dir`, else null (the
/// initialized model is used). If the `checkpoint` file is missing, warns, and opens the newest intact checkpoint that is in
/// the folder, as training would. DataLoss if the file leads to no checkpoint that can be loaded, or none is intact.
Result<std::unique_ptr<checkpoint::Reader>> open_checkpoint(Environment& env, const std::string& model_dir,
                                                            const std::optional<std::string>& prefix);

/// The same for the folder of `estimator`. A checkpoint that is evaluated now is open already.
Result<std::shared_ptr<const checkpoint::Reader>> open_checkpoint(Environment& env, const Estimator& estimator,
                                                                  const std::optional<std::string>& prefix);

}  // namespace shoal
