// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The HTTP/1.1 endpoint of a process for monitoring systems: /metrics (Prometheus, text format 0.0.4) and /healthz.
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/base/time.h"
#include "shoal/monitor/task_meters.h"

namespace shoal::monitor {

/// The address on which the endpoint listens.
struct MetricsAddress {
  std::string host;   ///< An IP address without brackets; "localhost" is 127.0.0.1.
  uint16_t port = 0;  ///< 0: any free port.
};
/// Reads "9400" (127.0.0.1), "0.0.0.0:9400", "[::1]:9400" or "localhost:9400". InvalidArgument says what is wrong, and how
/// an address is written.
Result<MetricsAddress> parse_metrics_address(std::string_view text);
/// True if no other machine can reach the address.
bool is_loopback(const MetricsAddress& address);
/// Returns a text such as "127.0.0.1:9400" or "[::1]:9400".
std::string to_string(const MetricsAddress& address);

/// Authentication for an endpoint that other machines can reach: the endpoint's own certificate, and the proof that it
/// demands of clients. With a certificate the endpoint speaks TLS 1.3.
struct MetricsGate {
  std::string certificate, key;  ///< In PEM.
  std::string bearer;            ///< The token that requests must send as "Authorization: Bearer ..."; empty: none.
  std::string authorities;       ///< In PEM: the CAs that may sign clients' certificates; empty: clients need none.
  ~MetricsGate();                ///< Wipes `key` and `bearer`.
};

struct MetricsEndpointOptions {
  MetricsAddress address;
  /// Says how clients authenticate. Called once, and only if other machines can reach the address. If this function fails,
  /// start_metrics_endpoint() returns the error. Its result must have a bearer token or authorities.
  std::function<Result<MetricsGate>()> gate;
  std::string version;  ///< Shoal's version, for shoal_build_info.
  /// A task is unhealthy if, for longer than this, its strand does not answer and the task finishes no step; > 0. While a
  /// task starts, saves or evaluates, the limit is ten times as long.
  Duration health_deadline = std::chrono::seconds(60);
};

/// Answers requests on a thread of its own until it is destroyed. Any other thread may destroy it.
class MetricsEndpoint {
 public:
  virtual ~MetricsEndpoint() = default;
  /// The registry to which every task of this process is added, so that the endpoint shows the task's metrics.
  virtual MeterRegistry& registry() = 0;
  /// The address with the port that is in use, also if port 0 was requested.
  virtual const MetricsAddress& address() const = 0;
};

/// Opens the port and begins to answer. Unavailable, naming the address, if the address is taken or is not one of this
/// machine, or if no thread can be started. FailedPrecondition if other machines could reach the address and the build has
/// no TLS, or if the build has no endpoints (SHOAL_METRICS=OFF). Also the errors of `gate`.
Result<std::shared_ptr<MetricsEndpoint>> start_metrics_endpoint(MetricsEndpointOptions options);

}  // namespace shoal::monitor
