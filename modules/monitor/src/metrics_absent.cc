// SPDX-License-Identifier: Apache-2.0
// Replaces metrics_endpoint.cc in a build without the endpoint.
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {

Result<std::shared_ptr<MetricsEndpoint>> start_metrics_endpoint(MetricsEndpointOptions) {
  return failed_precondition(
      "metrics: this build has no endpoint for monitoring systems: build with -DSHOAL_METRICS=ON (needs libboost-dev), or "
      "leave "
      "--metrics, and SHOAL_METRICS, out");
}

}  // namespace shoal::monitor
