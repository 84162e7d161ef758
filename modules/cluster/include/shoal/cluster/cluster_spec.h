// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which tasks a training cluster has and where they listen: role names, indices, addresses, and the ids that follow.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::cluster {

inline constexpr std::string_view kChiefRole = "chief";
inline constexpr std::string_view kMasterRole = "master";  ///< The older form of the chief, which also evaluates.
inline constexpr std::string_view kWorkerRole = "worker";
inline constexpr std::string_view kPsRole = "ps";
inline constexpr std::string_view kEvaluatorRole = "evaluator";  ///< An evaluator is never part of a ClusterSpec.

/// "host:port" taken apart. IPv6 hosts keep their brackets.
struct HostPort {
  std::string host;
  uint16_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Takes a host that is not empty, without blanks or control characters (a name, IPv4, or IPv6 in brackets); port 0 to
/// 65535. InvalidArgument saying what is wrong with `text`.
Result<HostPort> parse_host_port(std::string_view text);

/// True for `localhost`, 127.0.0.0/8 and [::1], as written: no name is looked up. `address` is a "host:port".
bool is_loopback_address(std::string_view address);

/// The training cluster: role name to (index, address). A value; roles are kept in byte order of their names, the nodes
/// of a role by index. Indices may have gaps (the sparse form lists only some members of a role).
class ClusterSpec {
 public:
  struct Node {
    int32_t index = 0;
    std::string address;  ///< Written "host:port".
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// Ordered, since everything derived from it must not depend on hashing.
  using Roles = std::map<std::string, std::vector<Node>, std::less<>>;

  /// Adds one node. InvalidArgument, naming role and index, if the address is not host:port, the index is negative, or
  /// the role already has it.
  Result<void> add(std::string_view role, int32_t index, std::string address);
  /// Makes `role` known without a node: an empty list. The same as leaving it out, except for chief and master.
  void add_role(std::string_view role);
  /// True if there was such a role.
  bool remove_role(std::string_view role);

  /// The checks on the whole (CONTRACT CL-3, numbers 8 to 10), in order: not both chief and master; exactly one chief (or
  /// master); no address twice. InvalidArgument.
  Result<void> check() const;

  bool empty() const;
  bool has_role(std::string_view role) const;
  /// Names of the roles that have nodes, in byte order.
  std::vector<std::string> role_names() const;
  std::span<const Node> nodes(std::string_view role) const;
  int32_t count(std::string_view role) const;
  int32_t node_count() const;
  /// How many nodes of the role come before this one: its number where nodes are counted without gaps (trainers, shards).
  /// Nothing for a node that is not listed.
  std::optional<int32_t> position(std::string_view role, int32_t index) const;
  /// The address of one node, or null.
  const std::string* address(std::string_view role, int32_t index) const;
  /// "master" where that role is present, else "chief".
  std::string_view chief_role() const;

  /// Nodes are numbered from 0: the chief role, then the others except ps in byte order of their names and by index, then
  /// ps. A role occupies (largest index + 1) numbers. Nothing for a node that is not listed.
  std::optional<int64_t> global_id(std::string_view role, int32_t index) const;
  /// True if every address is a loopback address (see is_loopback_address).
  bool is_loopback() const;
  /// All roles, including those with empty lists.
  const Roles& roles() const { return roles_; }

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b);

 private:
  Roles roles_;
};

/// How big a cluster should be, for clusters that Shoal sets up itself: one chief, or master, is always there.
struct ClusterSize {
  int32_t ps = 0;
  int32_t workers = 0;  ///< The chief, which trains too, is not counted.
  bool evaluator = false;
  bool master = false;  ///< True for a master in the chief's place, which evaluates itself: there is no evaluator then.
  int32_t tasks() const { return 1 + ps + workers + (evaluator ? 1 : 0); }
  std::string_view chief_role() const { return master ? kMasterRole : kChiefRole; }
  /// InvalidArgument for a master and an evaluator.
  Result<void> check() const;
  friend bool operator==(const ClusterSize&, const ClusterSize&) = default;
};

/// Reads "ps:2,worker:3,evaluator": role names with counts (none: 1), each at most once; `chief` may be named, with count
/// 1, or `master` in its place. Or one of the named sizes basic (chief only), standard (4 workers, 3 ps, evaluator),
/// premium (19 workers, 11 ps, evaluator). InvalidArgument listing what is accepted.
Result<ClusterSize> parse_cluster_size(std::string_view text);
/// "ps:2,worker:3,evaluator"; "master,ps:2"; "chief" when that is all.
std::string to_string(const ClusterSize& size);

}  // namespace shoal::cluster
