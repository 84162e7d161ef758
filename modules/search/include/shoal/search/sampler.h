// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which values the trials of a search try. Trial N has the same values in every run with the same space and seed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "shoal/search/space.h"

namespace shoal::tuning {

/// Gives the parameters of the trials one after the other, from trial 0 on.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// The parameters of the next trial. Nothing: there are no others.
  virtual std::optional<Assignment> next() = 0;
};

/// All combinations of a grid, in order. The errors of Space::grid().
Result<std::unique_ptr<Sampler>> grid_sampler(const Space& space);

/// Values drawn at random, each by the key (seed, trial, attempt, name), so that a parameter keeps its values when others are added.
/// Numbers are rounded to 6 significant digits. A combination that was given before is drawn again, up to 1,000 times; where that
/// does not help, and where a finite space has no other combination, there is no next trial.
std::unique_ptr<Sampler> random_sampler(const Space& space, int64_t seed);

/// One draw: the values of `trial`, in the attempt `attempt`, whatever was given before.
Assignment draw(const Space& space, int64_t seed, int64_t trial, int64_t attempt);

}  // namespace shoal::tuning
