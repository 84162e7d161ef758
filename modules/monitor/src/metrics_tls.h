// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TLS of the endpoint.
#include <utility>  // Boost 1.74's Asio forgets it.

#include <boost/asio/ssl/context.hpp>

#include <memory>

#include "shoal/base/result.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {

/// A server's: TLS 1.3 alone, and no sessions that are taken up again, so that each connection proves itself. Internal if the library
/// does not take what is in the gate.
Result<std::shared_ptr<boost::asio::ssl::context>> make_metrics_tls(const MetricsGate& gate);

}  // namespace shoal::monitor
