// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The network as a task meets it that has the addresses of another one, on a machine of its own: who connects to such an address
/// reaches the other task, and this one listens where nobody looks for it.
#include <string>

#include "shoal/base/production.h"

namespace shoal::testing {

TransportFactory listens_elsewhere(std::string task, TransportFactory network);

}  // namespace shoal::testing
