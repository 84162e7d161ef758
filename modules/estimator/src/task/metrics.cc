#include "shoal/estimator/metrics.h"

#include <cmath>

#include "shoal/base/result.h"

namespace shoal {
namespace {

constexpr double kWholeMax = 9007199254740992;  // This is 2^53.

std::optional<int64_t> whole(double value) {
  if (!(std::fabs(value) <= kWholeMax) || std::trunc(value) != value) return std::nullopt;
  return int64_t(value);
}

}  // namespace

int64_t Metrics::integer(const std::string& name) const {
  const auto found = find(name);
  if (found == end()) {
    std::string names;
    for (const auto& [known, value] : *this) names += (names.empty() ? "" : ", ") + known;
    raise(not_found("metrics: there is no " + name + " among " + names));
  }
  const std::optional<int64_t> number = whole(found->second);
  if (!number) {
    raise(failed_precondition("metrics: " + name + " is " + std::to_string(found->second) +
                              ", which is no whole number up to 2^53"));
  }
  return *number;
}

std::optional<int64_t> Metrics::count_of(const std::string& name) const {
  return counts_.contains(name) ? whole(at(name)) : std::nullopt;
}

void Metrics::set_count(const std::string& name, double value) {
  (*this)[name] = value;
  counts_.insert(name);
}

void Metrics::take(const Metrics& other) {
  for (const auto& [name, value] : other) {
    (*this)[name] = value;
    counts_.erase(name);
  }
  counts_.insert(other.counts_.begin(), other.counts_.end());
}

}  // namespace shoal
