#pragma once
#include <string>

#include "shoal/transport/transport.h"

namespace shoal::bench {

/// Some address of this machine that nobody has yet.
inline transport::Endpoint free_endpoint(const std::string& scheme) {
  const bool by_tcp = scheme == "tcp" || scheme == "auto";
  return {scheme, by_tcp ? "127.0.0.1:0" : "bench:0"};
}

}  // namespace shoal::bench
