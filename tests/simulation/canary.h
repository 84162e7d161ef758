// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Defects planted from outside of the production code, in jobs where they must show: what proves that the checks are alive.
#include <memory>
#include <string_view>

#include "plan.h"
#include "shoal/base/production.h"
#include "shoal/base/storage.h"

namespace shoal::simulation {

enum class Canary {
  kDiskFlipsABit,        ///< A checkpoint's data is not what was written.
  kDiskForgetsARename,   ///< A rename reports success and did nothing: an index is named and not there.
  kNetworkRepeatsAPush,  ///< A push comes again, under a number of its own.
};
inline constexpr uint64_t kCanaries = 3;
std::string_view to_string(Canary canary);

/// A job in which the defect must show: a server, a worker, an evaluator, some hundred steps, no faults.
Plan canary_plan(Canary canary, uint64_t seed);
/// The disk and the network that a task of such a job sees.
std::shared_ptr<Storage> planted_disk(Canary canary, std::shared_ptr<Storage> disk);
TransportFactory planted_network(Canary canary, const std::string& task, TransportFactory network);

}  // namespace shoal::simulation
