// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The lock of a model_dir. Only one run at a time may write into a model_dir, since two would overwrite each other's
/// checkpoints.
#include <memory>
#include <string>

#include "shoal/base/environment.h"

namespace shoal {

/// Locks `model_dir`, which exists, for this process. Unavailable if another process has locked it; the error names that
/// process and the time when it did. Null, with a warning, if the file system has no locks.
Result<std::unique_ptr<StorageLock>> lock_model_dir(Environment& env, const std::string& model_dir);

}  // namespace shoal
