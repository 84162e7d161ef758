// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The endpoint of a process that monitoring systems ask: /metrics (Prometheus, text format 0.0.4) and /healthz, by HTTP/1.1.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/base/time.h"
#include "shoal/monitor/task_meters.h"

namespace shoal::monitor {

/// Where the endpoint listens.
struct MetricsAddress {
  std::string host;   ///< An IP address without brackets; "localhost" is 127.0.0.1.
  uint16_t port = 0;  ///< 0: one that is free.
};
/// Reads "9400" (127.0.0.1), "0.0.0.0:9400", "[::1]:9400" or "localhost:9400". InvalidArgument saying what is wrong, and how it is
/// written.
Result<MetricsAddress> parse_metrics_address(std::string_view text);
/// True if nobody beyond this machine reaches it.
bool is_loopback(const MetricsAddress& address);
/// "127.0.0.1:9400", "[::1]:9400".
std::string to_string(const MetricsAddress& address);

/// How the endpoint proves itself beyond its machine, and whom it answers there. With a certificate it talks TLS 1.3.
struct MetricsGate {
  std::string certificate, key;  ///< In PEM.
  std::string bearer;            ///< What a request has to bring as "Authorization: Bearer ..."; empty: nothing.
  std::string authorities;  ///< In PEM: CAs, of one of which whoever asks needs a certificate; empty: none is asked for.
};

struct MetricsEndpointOptions {
  MetricsAddress address;
  /// Asked once where the address is beyond this machine, and its error is the endpoint's. The gate has a bearer text or authorities.
  std::function<Result<MetricsGate>()> gate;
  std::string version;  ///< Of Shoal, for shoal_build_info.
  /// A task whose strand has answered nothing for longer, while it finished no step, is not healthy; > 0. While a task starts, saves or
  /// evaluates it has ten times as long.
  Duration health_deadline = std::chrono::seconds(60);
};

/// Answers on a thread of its own until it is destroyed, which any other thread may do.
class MetricsEndpoint {
 public:
  virtual ~MetricsEndpoint() = default;
  /// Whoever runs a task in this process adds it here.
  virtual MeterRegistry& registry() = 0;
  /// With the port that the system gave, where 0 was asked for.
  virtual const MetricsAddress& address() const = 0;
};

/// Opens the port and begins to answer. Unavailable naming the address: it is taken, not of this machine, or no thread is left.
/// FailedPrecondition: beyond this machine, in a build without TLS; or in a build without endpoints (SHOAL_METRICS=OFF). Also what
/// `gate` gives.
Result<std::shared_ptr<MetricsEndpoint>> start_metrics_endpoint(MetricsEndpointOptions options);

}  // namespace shoal::monitor
