// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network of a task that has the addresses of another task, but runs on a machine of its own: a connection to such an
/// address reaches the other task, and this task listens at an address that nobody connects to.
#include <string>

#include "shoal/base/production.h"

namespace shoal::testing {

TransportFactory listens_elsewhere(std::string task, TransportFactory network);

}  // namespace shoal::testing
