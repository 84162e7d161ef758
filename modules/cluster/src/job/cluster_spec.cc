// SPDX-License-Identifier: Apache-2.0
#include "shoal/cluster/cluster_spec.h"

#include <arpa/inet.h>

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "job/quote.h"
#include "shoal/base/number_text.h"

namespace shoal::cluster {
namespace {

bool is_blank_or_control(unsigned char c) { return c <= 0x20 || c == 0x7F; }

Error bad_address(std::string_view text, const std::string& why) {
  return invalid_argument(in_quotes(text) + " is not host:port: " + why);
}

/// True for an IPv6 address in brackets, with or without a zone ("%eth0").
bool is_bracketed_ipv6(std::string_view host) {
  if (host.size() < 4 || host.front() != '[' || host.back() != ']') return false;
  const std::string inner(host.substr(1, host.size() - 2));
  const std::string number = inner.substr(0, inner.find('%'));
  in6_addr ignored{};
  return inet_pton(AF_INET6, number.c_str(), &ignored) == 1;
}

std::string place(std::string_view role, int32_t index) {
  return "role " + in_quotes(role) + ", index " + std::to_string(index);
}

bool index_less(const ClusterSpec::Node& node, int32_t index) { return node.index < index; }

}  // namespace

Result<HostPort> parse_host_port(std::string_view text) {
  if (const size_t scheme = text.find("://"); scheme != std::string_view::npos) {
    return bad_address(text, "it begins with a scheme; leave " + std::string(text.substr(0, scheme + 3)) + " out");
  }
  const size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return bad_address(text, "there is no port");
  const std::string_view host = text.substr(0, colon);
  if (host.empty()) return bad_address(text, "the host is empty");
  if (std::any_of(host.begin(), host.end(), is_blank_or_control)) {
    return bad_address(text, "the host has blanks or control characters");
  }
  const size_t other = host.find(':');
  if (other != std::string_view::npos && number_from<uint16_t>(host.substr(other + 1))) {
    return bad_address(text, "there are two ports; is one of them part of what should be the host alone?");
  }
  if (host.find_first_of("[]:") != std::string_view::npos && !is_bracketed_ipv6(host)) {
    return bad_address(text, "the host is neither a name nor an IPv4 address nor an IPv6 address in brackets");
  }
  const std::optional<uint16_t> port = number_from<uint16_t>(text.substr(colon + 1));
  if (!port) return bad_address(text, "the port is not a number from 0 to 65535");
  return HostPort{std::string(host), *port};
}

bool is_loopback_address(std::string_view address) {
  const Result<HostPort> parsed = parse_host_port(address);
  if (!parsed) return false;
  const std::string& host = parsed->host;
  if (host == "localhost") return true;
  if (host.front() == '[') {
    in6_addr v6{};
    return inet_pton(AF_INET6, host.substr(1, host.size() - 2).c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6);
  }
  in_addr v4{};
  return inet_pton(AF_INET, host.c_str(), &v4) == 1 && (ntohl(v4.s_addr) >> 24) == 127;
}

Result<void> ClusterSpec::add(std::string_view role, int32_t index, std::string address) {
  if (index < 0) return invalid_argument(place(role, index) + ": an index is not negative");
  if (auto parsed = parse_host_port(address); !parsed) return std::move(parsed).error().with_context(place(role, index));
  Roles& roles = own_roles();
  auto entry = roles.find(role);
  if (entry == roles.end()) entry = roles.emplace(std::string(role), std::vector<Node>{}).first;
  std::vector<Node>& nodes = entry->second;
  const auto at = std::lower_bound(nodes.begin(), nodes.end(), index, index_less);
  if (at != nodes.end() && at->index == index) return invalid_argument(place(role, index) + ": listed twice");
  nodes.insert(at, Node{index, std::move(address)});
  return {};
}

bool ClusterSpec::remove_role(std::string_view role) {
  Roles& roles = own_roles();
  const auto entry = roles.find(role);
  if (entry == roles.end()) return false;
  roles.erase(entry);
  return true;
}

void ClusterSpec::share() {
  if (!shared_) shared_ = std::make_shared<const Roles>(std::exchange(roles_, {}));
}

ClusterSpec::Roles& ClusterSpec::own_roles() {
  if (const auto shared = std::exchange(shared_, nullptr)) roles_ = *shared;
  return roles_;
}

Result<void> ClusterSpec::check() const {
  if (roles().contains(kChiefRole) && roles().contains(kMasterRole)) {
    return invalid_argument("cluster: \"chief\" and \"master\" exclude each other; keep the one that this job uses");
  }
  const std::string chief(chief_role());
  if (count(chief) == 0) {
    return invalid_argument("cluster: one \"" + chief + "\" is required, but none is listed");
  }
  if (count(chief) > 1) {
    return invalid_argument("cluster: only one \"" + chief + "\" is allowed, but " + std::to_string(count(chief)) +
                            " are listed");
  }
  std::unordered_map<std::string, std::string> seen;  // Maps an address (host and numeric port) to the task that has it.
  for (const auto& [role, nodes] : roles()) {
    for (const Node& node : nodes) {
      SHOAL_TRY(const HostPort parsed, parse_host_port(node.address));
      const std::string here = place(role, node.index);
      const auto [first, is_new] = seen.try_emplace(parsed.host + ":" + std::to_string(parsed.port), here);
      if (!is_new) {
        return invalid_argument("cluster: the address " + in_quotes(node.address) + " is given twice: to " + first->second +
                                " and to " + here);
      }
    }
  }
  return {};
}

std::vector<std::string> ClusterSpec::role_names() const {
  std::vector<std::string> names;
  for (const auto& [role, nodes] : roles()) {
    if (!nodes.empty()) names.push_back(role);
  }
  return names;
}

std::span<const ClusterSpec::Node> ClusterSpec::nodes(std::string_view role) const {
  const auto entry = roles().find(role);
  return entry == roles().end() ? std::span<const Node>() : std::span<const Node>(entry->second);
}

int32_t ClusterSpec::node_count() const {
  size_t total = 0;
  for (const auto& [role, nodes] : roles()) total += nodes.size();
  return int32_t(total);
}

std::optional<int32_t> ClusterSpec::position(std::string_view role, int32_t index) const {
  const std::span<const Node> all = nodes(role);
  const auto at = std::lower_bound(all.begin(), all.end(), index, index_less);
  if (at == all.end() || at->index != index) return std::nullopt;
  return int32_t(at - all.begin());
}

const std::string* ClusterSpec::address(std::string_view role, int32_t index) const {
  const std::span<const Node> all = nodes(role);
  const auto at = std::lower_bound(all.begin(), all.end(), index, index_less);
  return at != all.end() && at->index == index ? &at->address : nullptr;
}

std::optional<int64_t> ClusterSpec::global_id(std::string_view role, int32_t index) const {
  if (!address(role, index)) return {};
  const auto places = [this](std::string_view name) -> int64_t {
    const std::span<const Node> all = nodes(name);
    return all.empty() ? 0 : int64_t(all.back().index) + 1;
  };
  if (role == chief_role()) return index;
  int64_t before = places(chief_role());
  for (const auto& [name, nodes] : roles()) {
    const bool counts = name != chief_role() && name != kPsRole && (role == kPsRole || name < role);
    if (counts) before += places(name);
  }
  return before + index;
}

bool ClusterSpec::is_loopback() const {
  for (const auto& [role, nodes] : roles()) {
    for (const Node& node : nodes) {
      if (!is_loopback_address(node.address)) return false;
    }
  }
  return true;
}

void ClusterSpec::add_role(std::string_view role) { own_roles().try_emplace(std::string(role)); }
bool ClusterSpec::empty() const { return roles().empty(); }
bool ClusterSpec::has_role(std::string_view role) const { return count(role) > 0; }
int32_t ClusterSpec::count(std::string_view role) const { return int32_t(nodes(role).size()); }
std::string_view ClusterSpec::chief_role() const { return roles().contains(kMasterRole) ? kMasterRole : kChiefRole; }
bool operator==(const ClusterSpec& a, const ClusterSpec& b) { return a.roles() == b.roles(); }

}  // namespace shoal::cluster
