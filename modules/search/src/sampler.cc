// SPDX-License-Identifier: Apache-2.0
#include "shoal/search/sampler.h"

#include <algorithm>
#include <set>

#include "shoal/base/double_math.h"
#include "shoal/base/format.h"
#include "shoal/base/number_text.h"
#include "shoal/base/random.h"

namespace shoal::tuning {
namespace {

constexpr size_t kGridMax = 100'000;
constexpr size_t kCountMax = 10'000;  // If a space has more combinations, a search never tries all.
constexpr int64_t kAttemptsMax = 1'000;

/// Returns a number in [0, 1) with 53 random bits.
double unit_draw(RandomStream& random) { return double(random.next_u64() >> 11) / double(uint64_t(1) << 53); }

double on_scale(double low, double high, bool logarithmic, double part) {
  if (!logarithmic) return low + (high - low) * part;
  return double_exp(double_log(low) + (double_log(high) - double_log(low)) * part);
}

/// Rounds to 6 digits, since people read and copy these numbers.
double rounded(double value) { return number_from<double>(formatted("%.6g", value)).value_or(value); }

int64_t draw_integer(const Parameter& parameter, RandomStream& random) {
  const uint64_t width = uint64_t(parameter.largest) - uint64_t(parameter.least) + 1;
  if (!parameter.logarithmic)
    return int64_t(uint64_t(parameter.least) + (width == 0 ? random.next_u64() : random.below(width)));
  // A draw from n to n + 1 on the logarithmic scale becomes the whole number n. So the scale has to end at largest + 1:
  // otherwise the largest number would never be drawn.
  const double value = on_scale(double(parameter.least), double(parameter.largest) + 1, true, unit_draw(random));
  if (value >= double(parameter.largest)) return parameter.largest;
  return std::max(int64_t(value), parameter.least);
}

Value draw_value(const Parameter& parameter, RandomStream random) {
  switch (parameter.kind) {
    case Parameter::Kind::kReal:
      return std::clamp(rounded(on_scale(parameter.low, parameter.high, parameter.logarithmic, unit_draw(random))),
                        parameter.low, parameter.high);
    case Parameter::Kind::kInteger: return draw_integer(parameter, random);
    case Parameter::Kind::kChoice: break;
  }
  return parameter.choices[random.below(parameter.choices.size())];
}

class GridSampler : public Sampler {
 public:
  explicit GridSampler(std::vector<Assignment> all) : all_(std::move(all)) {}
  std::optional<Assignment> next() override { return next_ < all_.size() ? std::optional(all_[next_++]) : std::nullopt; }

 private:
  const std::vector<Assignment> all_;
  size_t next_ = 0;
};

class RandomSampler : public Sampler {
 public:
  RandomSampler(const Space& space, int64_t seed) : space_(space), seed_(seed), count_(space.count(kCountMax)) {}

  std::optional<Assignment> next() override {
    if (count_ && given_.size() >= *count_) return std::nullopt;
    for (int64_t attempt = 0; attempt < kAttemptsMax; ++attempt) {
      Assignment drawn = draw(space_, seed_, trial_, attempt);
      if (!given_.insert(drawn).second) continue;
      ++trial_;
      return drawn;
    }
    return std::nullopt;
  }

 private:
  const Space space_;
  const int64_t seed_;
  const std::optional<size_t> count_;
  int64_t trial_ = 0;
  std::set<Assignment> given_;
};

}  // namespace

Assignment draw(const Space& space, int64_t seed, int64_t trial, int64_t attempt) {
  const RandomKey key = fold_in(fold_in(fold_in(RandomKey(seed), "search"), uint64_t(trial)), uint64_t(attempt));
  Assignment drawn;
  for (const Parameter& parameter : space.parameters()) {
    if (!Space::is_active(parameter, drawn)) continue;
    drawn.emplace_back(parameter.name, draw_value(parameter, RandomStream(fold_in(key, parameter.name))));
  }
  return drawn;
}

Result<std::unique_ptr<Sampler>> grid_sampler(const Space& space) {
  SHOAL_TRY(std::vector<Assignment> all, space.grid(kGridMax));
  return std::make_unique<GridSampler>(std::move(all));
}

std::unique_ptr<Sampler> random_sampler(const Space& space, int64_t seed) {
  return std::make_unique<RandomSampler>(space, seed);
}

}  // namespace shoal::tuning
