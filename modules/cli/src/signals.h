// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For commands that end cleanly when a signal interrupts them.
#include <memory>

#include "shoal/base/environment.h"

namespace shoal::cli {

/// Makes an environment without a log, whose interrupted() a first SIGINT, SIGTERM or SIGHUP stops. A second signal ends the
/// process at once. When the environment is destroyed, signals have the effect that they had before.
std::unique_ptr<Environment> heed_signals();

}  // namespace shoal::cli
