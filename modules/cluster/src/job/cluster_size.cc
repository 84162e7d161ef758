// SPDX-License-Identifier: Apache-2.0
#include <set>

#include "job/quote.h"
#include "shoal/base/number_text.h"
#include "shoal/cluster/cluster_spec.h"
#include "shoal/cluster/named_size.h"

namespace shoal::cluster {
namespace {

/// The most tasks of a job: more than one machine can run, and few enough that sums of counts cannot overflow.
constexpr int32_t kTasksMax = 100'000;

Error bad_size(std::string_view text, const std::string& why) {
  return invalid_argument("cluster size " + in_quotes(text) + ": " + why +
                          "; write for example ps:2,worker:3,evaluator (a chief is always there), or basic, standard, "
                          "premium");
}

std::optional<int32_t> parse_count(std::string_view text) {
  const auto count = number_from<int32_t>(text);
  return count && *count >= 0 && *count <= kTasksMax ? count : std::nullopt;
}

/// Sets the count of a role. Returns an empty text, or why there cannot be `count` tasks of `role`.
std::string set_count(ClusterSize& size, std::string_view role, int32_t count) {
  if (role == kPsRole) {
    size.ps = count;
  } else if (role == kWorkerRole) {
    size.workers = count;
  } else if (role == kEvaluatorRole) {
    if (count > 1) return "there is at most one evaluator";
    size.evaluator = count == 1;
  } else if (role == kChiefRole) {
    if (count != 1) return "there is exactly one chief";
  } else if (role == kMasterRole) {
    if (count != 1) return "there is exactly one master";
    size.master = true;
  } else {
    return in_quotes(role) + " is none of ps, worker, evaluator, chief, master";
  }
  return "";
}

/// Checks the combination of roles; `seen` has the roles that the text names.
Result<ClusterSize> checked(std::string_view text, const ClusterSize& size, const std::set<std::string_view>& seen) {
  if (size.master && seen.contains(kChiefRole)) return bad_size(text, "a master is in the place of the chief");
  if (const Result<void> possible = size.check(); !possible) return bad_size(text, possible.error().message());
  return size;
}

}  // namespace

Result<void> ClusterSize::check() const {
  for (const auto& [role, count] : {std::pair(kPsRole, ps), std::pair(kWorkerRole, workers)}) {
    if (count >= 0 && count <= kTasksMax) continue;
    return invalid_argument("the number of " + in_quotes(role) + " is " + std::to_string(count) +
                            ", expected a count from 0 to " + std::to_string(kTasksMax));
  }
  if (master && evaluator) return invalid_argument("there is no evaluator beside a master, which evaluates itself");
  return {};
}

Result<ClusterSize> parse_cluster_size(std::string_view text) {
  if (const auto size = named_size(text)) return *size;
  ClusterSize size;
  std::set<std::string_view> seen;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    const std::string_view item = rest.substr(0, comma);
    const size_t colon = item.find(':');
    const std::string_view role = item.substr(0, colon);
    const auto count = colon == std::string_view::npos ? std::optional<int32_t>(1) : parse_count(item.substr(colon + 1));
    if (!count) {
      return bad_size(text, "the number of " + in_quotes(role) + " is not a count from 0 to " + std::to_string(kTasksMax));
    }
    if (const std::string why = set_count(size, role, *count); !why.empty()) return bad_size(text, why);
    if (!seen.insert(role).second) return bad_size(text, in_quotes(role) + " is given twice");
    if (comma == std::string_view::npos) return checked(text, size, seen);
    rest.remove_prefix(comma + 1);
  }
}

std::string to_string(const ClusterSize& size) {
  std::string text;
  const auto append = [&text](std::string_view item) {
    if (!text.empty()) text += ',';
    text += item;
  };
  if (size.master) append(kMasterRole);
  if (size.ps > 0) append("ps:" + std::to_string(size.ps));
  if (size.workers > 0) append("worker:" + std::to_string(size.workers));
  if (size.evaluator) append(kEvaluatorRole);
  return text.empty() ? std::string(kChiefRole) : text;
}

}  // namespace shoal::cluster
