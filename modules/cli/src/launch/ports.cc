// SPDX-License-Identifier: Apache-2.0
#include "launch/ports.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <string>

#include "shoal/base/exhaustion.h"
#include "shoal/base/kernel_file.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kListens = "0A";  // The state LISTEN in the kernel's tables of sockets.
// 127.0.0.1 in both byte orders, and 0.0.0.0, which stands for any address.
constexpr std::string_view kIpv4[] = {"0100007F", "00000000", "7F000001"};
// IPv6's address for all interfaces. A socket that listens there takes connections by IPv4, too.
constexpr std::string_view kAnyIpv6 = "00000000000000000000000000000000";

/// Adds the ports of listening sockets to `ports`. `table` is the text of /proc/net/tcp or /proc/net/tcp6, with the columns
/// number, local address:port, remote address:port, state, and more.
void add_listening(std::string_view table, bool ipv6, std::set<uint16_t>& ports) {
  for (const std::string_view line : split_at_lines(table)) {
    const std::vector<std::string_view> columns = split_at_blanks(line);
    if (columns.size() < 4 || columns[3] != kListens) continue;
    const std::string_view local = columns[1];
    const size_t colon = local.find(':');
    if (colon == std::string_view::npos) continue;
    const std::string_view address = local.substr(0, colon);
    const bool ours =
        ipv6 ? address == kAnyIpv6 : std::find(std::begin(kIpv4), std::end(kIpv4), address) != std::end(kIpv4);
    unsigned port = 0;
    const char* const end = local.data() + local.size();
    if (ours && std::from_chars(local.data() + colon + 1, end, port, 16).ptr == end) ports.insert(uint16_t(port));
  }
}

std::string table_of_kernel(const char* path) {
  std::string table;
  KernelFile file(path);
  while (const auto line = file.line()) table.append(*line).append(1, '\n');
  return table;
}

}  // namespace

Result<ReservedPort> ReservedPort::on_loopback() {
  Descriptor socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const int yes = 1;
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t bytes = sizeof address;
  auto* const any = reinterpret_cast<sockaddr*>(&address);
  if (!socket || ::setsockopt(socket.number(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
      ::bind(socket.number(), any, bytes) != 0 || ::getsockname(socket.number(), any, &bytes) != 0) {
    return unavailable("no free port of 127.0.0.1: " + system_error_text(errno));
  }
  return ReservedPort(std::move(socket), ntohs(address.sin_port));
}

Result<void> check_loopback() {
  const Descriptor socket(::socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(9);  // No packet is sent: connect() of a datagram socket only looks for the route.
  if (!socket || ::connect(socket.number(), reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0) return {};
  return failed_precondition(
      "tasks of this machine cannot reach each other at 127.0.0.1: " + system_error_text(errno) +
      "; is its loopback interface down? As root, `ip link set lo up` starts it");
}

std::set<uint16_t> listening_ports(std::string_view ipv4, std::string_view ipv6) {
  std::set<uint16_t> ports;
  add_listening(ipv4, false, ports);
  add_listening(ipv6, true, ports);
  return ports;
}

std::set<uint16_t> listening_ports() {
  return listening_ports(table_of_kernel("/proc/net/tcp"), table_of_kernel("/proc/net/tcp6"));
}

}  // namespace shoal::cli::launch
