// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The locks of a model_dir and of a spare folder. Only one run at a time may write into such a folder, since two would
/// overwrite each other's checkpoints.
#include <memory>
#include <string>

#include "shoal/base/environment.h"

namespace shoal {

/// Locks `model_dir`, which exists, for this process. Unavailable if another process has locked it; the error names that
/// process and the time when it did. InvalidArgument if the file of the lock is another user's, and this process may neither
/// write nor read it. Null, with a warning, if the file system has no locks.
Result<std::unique_ptr<StorageLock>> lock_model_dir(Environment& env, const std::string& model_dir);

/// Locks `folder`, a run's folder within RunConfigOptions::spare_dir, in the same way. Unavailable also if the disk is full,
/// so that the lock's file cannot be made.
Result<std::unique_ptr<StorageLock>> lock_spare_folder(Environment& env, const std::string& folder);

}  // namespace shoal
