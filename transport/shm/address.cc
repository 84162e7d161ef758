// SPDX-License-Identifier: Apache-2.0
#include "address.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <netinet/in.h>
#include <unistd.h>

#include <cstddef>
#include <cstring>

namespace shoal::transport::shm {
namespace {

constexpr size_t kAddressBytesMax = 80;  // A socket's name has 107 bytes, which include a prefix.

struct IpAddress {
  int family = AF_UNSPEC;
  in6_addr bytes{};  // An IPv4 address uses the first four bytes.
};

IpAddress parse_ip(const std::string& host) {
  IpAddress ip;
  if (::inet_pton(AF_INET, host.c_str(), &ip.bytes) == 1) ip.family = AF_INET;
  if (::inet_pton(AF_INET6, host.c_str(), &ip.bytes) == 1) ip.family = AF_INET6;
  return ip;
}

bool equals(const IpAddress& ip, const sockaddr* address) {
  if (!address || address->sa_family != ip.family) return false;
  if (ip.family == AF_INET)
    return std::memcmp(&ip.bytes, &reinterpret_cast<const sockaddr_in*>(address)->sin_addr, sizeof(in_addr)) == 0;
  return std::memcmp(&ip.bytes, &reinterpret_cast<const sockaddr_in6*>(address)->sin6_addr, sizeof(in6_addr)) == 0;
}

bool of_this_machine(const IpAddress& ip) {
  constexpr unsigned char kLoopbackNet = 127;
  if (ip.family == AF_INET && ip.bytes.s6_addr[0] == kLoopbackNet) return true;
  ifaddrs* first = nullptr;
  if (::getifaddrs(&first) != 0) return true;  // Assume that it is this machine if the system does not say.
  bool found = false;
  for (const ifaddrs* one = first; one && !found; one = one->ifa_next) found = equals(ip, one->ifa_addr);
  ::freeifaddrs(first);
  return found || (ip.family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&ip.bytes));
}

// Returns "host" for "host:port", and "::1" for "[::1]:port". A text without a colon is returned unchanged.
std::string host_of(const std::string& address) {
  std::string host = address.substr(0, address.rfind(':'));
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  return host;
}

}  // namespace

Result<SocketName> socket_name(const Endpoint& endpoint) {
  const std::string& address = endpoint.address;
  if (endpoint.scheme != "shm" || address.empty() || address.size() > kAddressBytesMax)
    return invalid_argument(to_string(endpoint) + ": an address on this machine is written shm://name, with at most " +
                            std::to_string(kAddressBytesMax) + " characters");
  const IpAddress ip = parse_ip(host_of(address));
  if (ip.family != AF_UNSPEC && !of_this_machine(ip))
    return failed_precondition(to_string(endpoint) +
                               ": this is another machine, but shm connects processes of one; use --transport tcp");
  SocketName name;
  name.address.sun_family = AF_UNIX;
  const std::string text = "shoal/" + std::to_string(::geteuid()) + "/" + address;
  static_assert(sizeof name.address.sun_path > kAddressBytesMax + sizeof "shoal/4294967295/");
  std::memcpy(name.address.sun_path + 1, text.data(), text.size());
  name.bytes = socklen_t(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  return name;
}

}  // namespace shoal::transport::shm
