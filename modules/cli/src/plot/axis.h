// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The scale of an axis: its range and its ticks.
#include <string>
#include <vector>

namespace shoal::cli::plot {

struct Range {
  double low = 0, high = 1;
};

struct Tick {
  double value = 0;
  std::string label;  ///< "0.05", "20k", "1e-06".
};

/// Returns round numbers in `range`, about `wanted` of them and at least one interval: the step is 1, 2 or 5 times a power
/// of ten. Empty if the range is empty or not finite. Source: Paul Heckbert, Nice Numbers for Graph Labels, in Graphics
/// Gems (1990).
std::vector<Tick> nice_ticks(Range range, int wanted);

/// Returns ticks for a logarithmic axis of positive numbers: about `wanted` of the powers of ten in the range. If the range
/// has fewer than three powers, takes all numbers 1, 2 and 5 times a power. If there are fewer than two of these, or fewer
/// than four while high / low is below 10, returns nice_ticks() instead.
std::vector<Tick> log_ticks(Range range, int wanted);

/// Formats a number with four significant digits, as short as its size allows: "12.3k", "1.2e-05", "NaN".
std::string short_number(double value);

/// Maps values to positions on an axis, from 0 (the low end) to 1.
class Axis {
 public:
  /// Replaces a range that cannot be drawn by the nearest one that can: finite, low < high, and positive if `log`.
  Axis(Range range, bool log, int wanted_ticks);
  /// Returns the position of `value`. For values outside of the range it may be below 0, above 1 or not finite.
  double place(double value) const;
  const std::vector<Tick>& ticks() const { return ticks_; }
  Range range() const { return range_; }
  bool log() const { return log_; }

 private:
  Range range_;
  bool log_;
  std::vector<Tick> ticks_;
};

/// Extends `range` on both sides by `share` of its length (of its logarithm if `log`). A range of one value becomes a range
/// around that value.
Range widened(Range range, double share, bool log);

}  // namespace shoal::cli::plot
