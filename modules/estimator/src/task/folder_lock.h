// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One run at a time writes into a model_dir (CONTRACT FA-11).
#include <memory>
#include <string>

#include "shoal/base/environment.h"

namespace shoal {

/// Holds `model_dir`, which exists, for this process. Unavailable, naming who holds it and since when: another one does.
/// Null, with a warning: its file system has no locks.
Result<std::unique_ptr<StorageLock>> lock_model_dir(Environment& env, const std::string& model_dir);

}  // namespace shoal
