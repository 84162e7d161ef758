// SPDX-License-Identifier: Apache-2.0
#include "signals.h"

#include "shoal/base/production.h"

namespace shoal::cli {

std::unique_ptr<Environment> heed_signals() {
  ProductionOptions options;
  options.sink = [](const LogRecord&) {};
  options.pool_threads = 1;
  options.spin = Duration::zero();
  options.handle_signals = true;
  return make_production_environment(std::move(options));
}

}  // namespace shoal::cli
