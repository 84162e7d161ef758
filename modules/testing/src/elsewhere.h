// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network of a task that is configured with the addresses of another task, but runs on a different machine. A
/// connection to one of these addresses reaches the other task. This task itself listens at an address that nobody connects
/// to.
#include <string>

#include "shoal/base/production.h"

namespace shoal::testing {

TransportFactory listens_elsewhere(std::string task, TransportFactory network);

}  // namespace shoal::testing
