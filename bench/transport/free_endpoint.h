// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <string>

#include "shoal/transport/transport.h"

namespace shoal::bench {

/// Some address of this machine that nobody has yet, for `transport`, which is the one of `scheme`.
inline transport::Endpoint free_endpoint(const transport::Transport& transport, const std::string& scheme) {
  return {scheme, transport.reach() == transport::Reach::kNetwork ? "127.0.0.1:0" : "bench:0"};
}

}  // namespace shoal::bench
