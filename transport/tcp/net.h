// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of Asio that tcp uses, and functions that read and print addresses as text.
#include <utility>  // Boost 1.74's Asio needs it without including it.

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>

#include <string>
#include <vector>

#include "shoal/transport/transport.h"

namespace shoal::transport::tcp {

namespace asio = boost::asio;
using boost::system::error_code;
using Socket = asio::ip::tcp::socket;
using Acceptor = asio::ip::tcp::acceptor;
using Resolver = asio::ip::tcp::resolver;
using SocketAddress = asio::ip::tcp::endpoint;

struct HostPort {
  std::string host;  ///< Without brackets.
  uint16_t port = 0;
};
/// Reads "host:port", "1.2.3.4:5" or "[::1]:5". InvalidArgument describes the mistake.
Result<HostPort> parse_host_port(const Endpoint& endpoint);
std::string to_text(const SocketAddress& address);  ///< Returns "1.2.3.4:5" or "[::1]:5".
bool is_loopback(const SocketAddress& address);
/// The address if `host` is numeric; else nothing, since the name has to be resolved.
std::vector<SocketAddress> numeric_addresses(const HostPort& at);
/// Checks that messages cannot be read or forged on the way: all addresses are loopback, or a credential encrypts, or else
/// the user accepts plain tcp by `insecure` (with one warning). Otherwise FailedPrecondition, which says what the user can
/// do instead.
Result<void> check_secure(Logger& log, const Endpoint& endpoint, const std::vector<SocketAddress>& addresses,
                          const LinkOptions& options);

}  // namespace shoal::transport::tcp
