// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/metrics.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/result.h"

namespace shoal {
namespace {

constexpr double kWholeMax = 9007199254740992;  // 2^53

std::optional<int64_t> whole(double value) {
  if (!(std::fabs(value) <= kWholeMax) || std::trunc(value) != value) return std::nullopt;
  return int64_t(value);
}

}  // namespace

double Metrics::at(const std::string& name) const {
  const auto found = find(name);
  if (found != end()) return found->second;
  std::vector<std::string> known;
  for (const auto& [other, value] : *this) known.push_back(other);
  const std::string names = comma_separated(known);
  raise(
      not_found("metrics: there is no " + name + " among " + (names.empty() ? "none" : names) + did_you_mean(name, known)));
}

int64_t Metrics::integer(const std::string& name) const {
  const double value = at(name);
  const std::optional<int64_t> number = whole(value);
  if (!number) {
    raise(
        failed_precondition("metrics: " + name + " is " + std::to_string(value) + ", which is no whole number up to 2^53"));
  }
  return *number;
}

std::optional<int64_t> Metrics::count_of(const std::string& name) const {
  return std::ranges::binary_search(counts_, name) ? whole(at(name)) : std::nullopt;
}

void Metrics::set_count(const std::string& name, double value) {
  (*this)[name] = value;
  const auto place = std::ranges::lower_bound(counts_, name);
  if (place == counts_.end() || *place != name) counts_.insert(place, name);
}

void Metrics::take(const Metrics& other) {
  for (const auto& [name, value] : other) {
    (*this)[name] = value;
    std::erase(counts_, name);
  }
  std::vector<std::string> both;
  std::ranges::set_union(counts_, other.counts_, std::back_inserter(both));
  counts_ = std::move(both);
}

}  // namespace shoal
