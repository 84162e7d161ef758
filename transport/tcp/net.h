// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of Asio in use, and addresses as people write them.
#include <utility>  // Boost 1.74's Asio forgets it.

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
  std::string host;  ///< The host without brackets.
  uint16_t port = 0;
};
/// Reads "host:port", "1.2.3.4:5" or "[::1]:5". InvalidArgument says what is wrong.
Result<HostPort> parse_host_port(const Endpoint& endpoint);
std::string to_text(const SocketAddress& address);  ///< Such as "1.2.3.4:5" or "[::1]:5".
bool is_loopback(const SocketAddress& address);
/// The address if `host` is a number, else nothing: then it must be resolved.
std::vector<SocketAddress> numeric_addresses(const HostPort& at);
/// Checks that all are loopback, or a credential encrypts, or `insecure` allows plain tcp, which warns once; else
/// FailedPrecondition naming the ways out.
Result<void> check_secure(Logger& log, const Endpoint& endpoint, const std::vector<SocketAddress>& addresses,
                          const LinkOptions& options);

}  // namespace shoal::transport::tcp
