// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A connection to the endpoint: reads requests, answers each, and closes the connection if a step takes too long.
#include <utility>  // Boost 1.74's Asio lacks this include.

#include <boost/asio/ip/tcp.hpp>

#include <functional>
#include <memory>

#include "metrics_answer.h"

namespace boost::asio::ssl {
class context;
}

namespace shoal::monitor {

// Limits of one connection.
inline constexpr uint32_t kHeadBytesMax = 8 * 1024;
inline constexpr auto kRequestTimeout = std::chrono::seconds(10);  // Limits each TLS handshake, request header, answer.
inline constexpr auto kIdleTimeout =
    std::chrono::seconds(120);  // Limits the wait for the next request; Prometheus asks at least once a minute.
inline constexpr auto kLingerTimeout = std::chrono::seconds(2);  // Limits the wait for the peer to read the answer.
inline constexpr size_t kLingerBytesMax = 64 * 1024;

/// Used on the thread of the socket's executor alone.
class MetricsSession {
 public:
  virtual ~MetricsSession() = default;
  virtual void start() = 0;
  /// Closes the connection at once.
  virtual void close() = 0;
  /// True while the session waits for a request to begin.
  virtual bool idle() const = 0;
};

struct SessionCalls {
  std::function<HttpAnswer(const RequestHead&)> answer;
  std::function<void()> ended;  ///< Called once.
};

std::shared_ptr<MetricsSession> make_plain_session(boost::asio::ip::tcp::socket socket, SessionCalls calls);
/// Exists only in a build with TLS.
std::shared_ptr<MetricsSession> make_tls_session(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context& context,
                                                 SessionCalls calls);

}  // namespace shoal::monitor
