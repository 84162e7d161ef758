// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The transports of this build.
#include "shoal/base/production.h"
#include "shoal/transport/transport.h"

namespace shoal::transport {

/// The transports by scheme. Generated from the folders of transport/ and of SHOAL_PLUGIN_DIRS.
const TransportTable& built_in_transports();

}  // namespace shoal::transport
