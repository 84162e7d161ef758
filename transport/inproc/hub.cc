// SPDX-License-Identifier: Apache-2.0
#include "hub.h"

namespace shoal::transport {
InprocHub::InprocHub() : state_(std::make_unique<State>()) {}
InprocHub::~InprocHub() = default;
}  // namespace shoal::transport
