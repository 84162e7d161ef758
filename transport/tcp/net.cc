// SPDX-License-Identifier: Apache-2.0
#include "net.h"

#include <algorithm>

#include "shoal/base/number_text.h"

namespace shoal::transport::tcp {

Result<HostPort> parse_host_port(const Endpoint& endpoint) {
  const auto wrong = [&](std::string_view what) {
    return invalid_argument(to_string(endpoint) + ": " + std::string(what) +
                            "; write tcp://host:port, and an IPv6 address in brackets: tcp://[::1]:2222");
  };
  if (endpoint.scheme != "tcp") return wrong("not a tcp address");
  const std::string_view address = endpoint.address;
  const size_t colon = address.rfind(':');
  if (colon == std::string_view::npos) return wrong("no port");
  std::string_view host = address.substr(0, colon);
  const std::string_view digits = address.substr(colon + 1);
  if (host.starts_with('[')) {
    if (!host.ends_with(']')) return wrong("no closing bracket before the port");
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return wrong("more than one colon");
  }
  if (host.empty()) return wrong("no host (all interfaces at once are not offered)");
  HostPort result;
  result.host = host;
  const auto port = number_from<uint16_t>(digits);
  if (!port) return wrong("the port is not a number up to 65535");
  result.port = *port;
  return result;
}

std::string to_text(const SocketAddress& address) {
  const std::string host = address.address().to_string();
  return (address.address().is_v6() ? "[" + host + "]" : host) + ":" + std::to_string(address.port());
}

bool is_loopback(const SocketAddress& address) {
  const auto ip = address.address();
  if (ip.is_loopback()) return true;
  return ip.is_v6() && ip.to_v6().is_v4_mapped() &&
         asio::ip::make_address_v4(asio::ip::v4_mapped, ip.to_v6()).is_loopback();
}

std::vector<SocketAddress> numeric_addresses(const HostPort& at) {
  error_code error;
  const auto ip = asio::ip::make_address(at.host, error);
  if (error) return {};
  return {SocketAddress(ip, at.port)};
}

Result<void> check_secure(Logger& log, const Endpoint& endpoint, const std::vector<SocketAddress>& addresses,
                          const LinkOptions& options) {
  const auto beyond = std::find_if_not(addresses.begin(), addresses.end(), is_loopback);
  if (beyond == addresses.end() || options.credential) return {};
  if (options.insecure) {
    log.warning_once("insecure",
                     "--insecure: messages to other machines are neither encrypted nor authenticated; whoever "
                     "reaches the ports can join");
    return {};
  }
  return failed_precondition(
      to_string(endpoint) + ": leads beyond this machine (" + to_text(*beyond) +
      "), where anyone who reaches the port could take part: make a token (shoal keys token) and give "
      "it to every task (SHOAL_TOKEN, or --token-file), or allow plain tcp with --insecure "
      "(SHOAL_INSECURE=1)");
}

}  // namespace shoal::transport::tcp
