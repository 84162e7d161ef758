// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Samplers choose the values that the trials of a search try. Trial N has the same values in every run with the same space
/// and seed.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>

#include "shoal/search/space.h"

namespace shoal::tuning {

/// Chooses the parameters of the trials in order, from trial 0 on.
class Sampler {
 public:
  virtual ~Sampler() = default;
  /// Returns the parameters of the next trial; nothing if there are no further trials.
  virtual std::optional<Assignment> next() = 0;
};

/// Goes through all combinations of a grid, in order. Returns the errors of Space::grid().
Result<std::unique_ptr<Sampler>> grid_sampler(const Space& space);

/// Draws values at random. A value depends only on the seed, the trial, the attempt and the parameter's name, so a
/// parameter keeps its values when other parameters are added. Numbers are rounded to 6 significant digits. If a
/// combination repeats an earlier one, another is drawn, up to 1,000 times. If these all repeat, or a finite space has no
/// other combination, there is no next trial.
std::unique_ptr<Sampler> random_sampler(const Space& space, int64_t seed);

/// Draws the values of `trial` for the attempt `attempt`, without regard to combinations drawn before.
Assignment draw(const Space& space, int64_t seed, int64_t trial, int64_t attempt);

}  // namespace shoal::tuning
