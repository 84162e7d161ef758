// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The members of a training cluster: roles, indices, addresses, and the global ids that follow from them.
#include <cstdint>
#include <map>
#include <memory>
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

/// The two parts of "host:port". IPv6 hosts keep their brackets.
struct HostPort {
  std::string host;
  uint16_t port = 0;
  friend bool operator==(const HostPort&, const HostPort&) = default;
};

/// Parses "host:port". The host is a name, an IPv4 address, or an IPv6 address in brackets, without blanks or control
/// characters; the port is 0 to 65535. InvalidArgument saying what is wrong with `text`.
Result<HostPort> parse_host_port(std::string_view text);

/// True for `localhost`, 127.0.0.0/8 and [::1], as written: no name is looked up. `address` is a "host:port".
bool is_loopback_address(std::string_view address);

/// The training cluster: for each role its nodes, as index and address. Roles are ordered by the bytes of
/// their names, nodes by index. Indices may have gaps: the sparse form lists only some nodes of a role.
class ClusterSpec {
 public:
  struct Node {
    int32_t index = 0;
    std::string address;  ///< Written "host:port".
    friend bool operator==(const Node&, const Node&) = default;
  };
  /// An ordered map, so that results derived from the roles do not depend on hashing.
  using Roles = std::map<std::string, std::vector<Node>, std::less<>>;

  /// Adds one node. InvalidArgument, naming role and index, if the address is not host:port, the index is negative, or
  /// the role already has this index.
  Result<void> add(std::string_view role, int32_t index, std::string address);
  /// Adds `role` with an empty list. An empty list means the same as an absent role, except for chief and master.
  void add_role(std::string_view role);
  /// Removes a role. Returns false if there was none of this name.
  bool remove_role(std::string_view role);
  /// Makes the copies that are made of this object from now on share its nodes, so that a copy takes neither time nor memory.
  /// A copy that is changed later gets nodes of its own first.
  void share();

  /// Returns InvalidArgument for the first of these mistakes: the cluster has both a chief and a master; it does not have
  /// exactly one chief (or master); an address occurs twice.
  Result<void> check() const;

  bool empty() const;
  bool has_role(std::string_view role) const;
  /// Names of the roles that have nodes, in byte order.
  std::vector<std::string> role_names() const;
  std::span<const Node> nodes(std::string_view role) const;
  int32_t count(std::string_view role) const;
  int32_t node_count() const;
  /// The node's position among the listed nodes of its role. Trainers and shards are numbered by these positions, so
  /// their numbers have no gaps. Nothing for a node that is not listed.
  std::optional<int32_t> position(std::string_view role, int32_t index) const;
  /// The address of one node, or null.
  const std::string* address(std::string_view role, int32_t index) const;
  /// "master" if the cluster has that role, else "chief".
  std::string_view chief_role() const;

  /// Returns the node's number in the whole cluster, from 0. First come the nodes of the chief role; then those of the
  /// other roles except ps, the roles in byte order of their names, nodes by index; last ps. A role takes (largest index
  /// + 1) numbers. Nothing for a node that is not listed.
  std::optional<int64_t> global_id(std::string_view role, int32_t index) const;
  /// True if every address is a loopback address (see is_loopback_address).
  bool is_loopback() const;
  /// All roles, including those with empty lists.
  const Roles& roles() const { return shared_ ? *shared_ : roles_; }

  friend bool operator==(const ClusterSpec& a, const ClusterSpec& b);

 private:
  /// The nodes, for a change: no other object shares them.
  Roles& own_roles();

  Roles roles_;                          // Empty if the nodes are in shared_.
  std::shared_ptr<const Roles> shared_;  // Set by share().
};

/// The size of a cluster that Shoal sets up itself. One chief (or master) is always part of it.
struct ClusterSize {
  int32_t ps = 0;
  int32_t workers = 0;  ///< The number of workers, without the chief (which trains too).
  bool evaluator = false;
  /// True for a master in the chief's place. A master evaluates itself, so that there is no evaluator.
  bool master = false;
  int32_t tasks() const { return 1 + ps + workers + (evaluator ? 1 : 0); }
  std::string_view chief_role() const { return master ? kMasterRole : kChiefRole; }
  /// InvalidArgument if `ps` or `workers` is not a count from 0 to 100,000, or if there are both a master and an evaluator.
  Result<void> check() const;
  friend bool operator==(const ClusterSize&, const ClusterSize&) = default;
};

/// Reads a cluster size: role names with counts, as "ps:2,worker:3,evaluator" (no count: 1), each role at most once;
/// `chief`, or `master` in its place, may be named with count 1. Or a named size (named_size.h), whole: nothing here reduces
/// it to what a machine can run. InvalidArgument listing what is accepted.
Result<ClusterSize> parse_cluster_size(std::string_view text);
/// "ps:2,worker:3,evaluator"; "master,ps:2"; "chief" for a chief alone.
std::string to_string(const ClusterSize& size);

}  // namespace shoal::cluster
