// SPDX-License-Identifier: Apache-2.0
#include <arpa/inet.h>
#include <string.h>  // explicit_bzero()

#include "shoal/base/number_text.h"
#include "shoal/monitor/metrics_endpoint.h"

namespace shoal::monitor {
namespace {

constexpr const char* kOwnMachine = "127.0.0.1";

bool is_ipv4(const std::string& host) {
  in_addr address{};
  return ::inet_pton(AF_INET, host.c_str(), &address) == 1;
}

bool is_ipv6(const std::string& host) {
  in6_addr address{};
  return ::inet_pton(AF_INET6, host.c_str(), &address) == 1;
}

}  // namespace

MetricsGate::~MetricsGate() {
  explicit_bzero(key.data(), key.size());
  explicit_bzero(bearer.data(), bearer.size());
}

Result<MetricsAddress> parse_metrics_address(std::string_view text) {
  const auto wrong = [text](const std::string& what) {
    return invalid_argument(
        "metrics: \"" + std::string(text) + "\": " + what +
        "; write a port, as 9400, for this machine alone, or ADDRESS:PORT, as 0.0.0.0:9400 or [::]:9400");
  };
  MetricsAddress address{.host = kOwnMachine, .port = 0};
  const size_t colon = text.rfind(':');
  const std::string_view digits = colon == std::string_view::npos ? text : text.substr(colon + 1);
  const auto port = number_from<uint16_t>(digits);
  if (!port) return wrong("the port is no number from 0 to 65535");
  address.port = *port;
  if (colon == std::string_view::npos) return address;
  const std::string_view host = text.substr(0, colon);
  const bool bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  address.host = bracketed ? host.substr(1, host.size() - 2) : host;
  if (address.host == "localhost") address.host = kOwnMachine;
  if (bracketed ? !is_ipv6(address.host) : !is_ipv4(address.host)) return wrong("the host is no IP address, nor localhost");
  return address;
}

bool is_loopback(const MetricsAddress& address) {
  in_addr v4{};
  if (::inet_pton(AF_INET, address.host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return ::inet_pton(AF_INET6, address.host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
}

std::string to_string(const MetricsAddress& address) {
  const bool v6 = address.host.find(':') != std::string::npos;
  return (v6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace shoal::monitor
