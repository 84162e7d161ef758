// SPDX-License-Identifier: Apache-2.0
#pragma once
/// TLS for the endpoint that serves a task's metrics (metrics_endpoint.h).
#include <utility>  // Boost 1.74's Asio lacks this include.

#include <boost/asio/ssl/context.hpp>

#include <memory>

#include "shoal/base/result.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {

/// Makes a server's context: TLS 1.3 only and without session resumption, so that each connection authenticates. Internal
/// if OpenSSL rejects the certificate, the key or the authorities of `gate`.
Result<std::shared_ptr<boost::asio::ssl::context>> make_metrics_tls(const MetricsGate& gate);

}  // namespace shoal::monitor
