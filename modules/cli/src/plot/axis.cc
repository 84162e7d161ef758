// SPDX-License-Identifier: Apache-2.0
#include "plot/axis.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/format.h"

namespace shoal::cli::plot {
namespace {

/// Returns 1, 2, 5 or 10 times a power of ten, whichever is nearest to `length`.
double nice_step(double length) {
  const double power = std::pow(10, std::floor(std::log10(length)));
  const double fraction = length / power;
  return (fraction < 1.5 ? 1 : fraction < 3 ? 2 : fraction < 7 ? 5 : 10) * power;
}

/// Returns the label of a tick. All labels of an axis have the same unit and the same number of decimals.
std::string tick_label(double value, double step, double most) {
  if (value == 0) return "0";
  if (most >= 1e15 || most < 1e-4) return formatted("%.3g", value);
  const char* unit = most >= 1e10 ? "G" : most >= 1e7 ? "M" : most >= 1e4 ? "k" : "";
  const double divisor = *unit == 'G' ? 1e9 : *unit == 'M' ? 1e6 : *unit == 'k' ? 1e3 : 1;
  const double scaled_step = step / divisor;
  const int decimals = std::clamp(int(std::ceil(-std::log10(scaled_step) - 1e-9)), 0, 12);
  return formatted("%.*f", decimals, value / divisor) + unit;
}

bool is_usable(Range range) {
  return std::isfinite(range.low) && std::isfinite(range.high) && range.low < range.high &&
         std::isfinite(range.high - range.low);
}

/// Changes `range` as little as possible, so that the axis can compute where a value lies between low and high. Numbers in
/// files may be so large that high - low is infinite, or so close that no number lies between them.
Range drawable(Range range, bool log) {
  const double least = log ? 1e-300 : -5e307, most = log ? 1e300 : 5e307;
  const auto within = [&](double value) { return std::isnan(value) ? least : std::clamp(value, least, most); };
  const double low = within(range.low), high = within(range.high);
  if (low < high && (!log || std::log10(low) < std::log10(high))) return {low, high};
  if (log) return low < 1e299 ? Range{low, low * 10} : Range{low / 10, low};
  const double room = std::max(std::abs(low) * 1e-9, 0.5);
  return {low - room, low + room};
}

}  // namespace

std::vector<Tick> nice_ticks(Range range, int wanted) {
  if (!is_usable(range)) return {};
  const double step = nice_step((range.high - range.low) / std::max(wanted, 1));
  const double most = std::max(std::abs(range.low), std::abs(range.high));
  // If the step is smaller than the precision of the numbers, neighbouring ticks would be equal.
  if (!std::isfinite(step) || step <= most * 1e-14) return {};
  std::vector<Tick> ticks;
  // Each tick is computed as a multiple of the step, not as a sum of steps, so that rounding errors do not accumulate.
  const double first = std::ceil(range.low / step - 1e-9), last = std::floor(range.high / step + 1e-9);
  for (double multiple = first; multiple <= last; multiple += 1) {
    ticks.push_back({multiple * step, tick_label(multiple * step, step, most)});
  }
  return ticks;
}

std::vector<Tick> log_ticks(Range range, int wanted) {
  if (!is_usable(range) || range.low <= 0) return {};
  const double first = std::ceil(std::log10(range.low) - 1e-9), last = std::floor(std::log10(range.high) + 1e-9);
  const int powers = int(last - first) + 1;
  std::vector<Tick> ticks;
  const auto add = [&](double value) {
    if (value >= range.low * (1 - 1e-9) && value <= range.high * (1 + 1e-9)) ticks.push_back({value, short_number(value)});
  };
  if (powers < 3) {
    for (double exponent = first - 1; exponent <= last; exponent += 1) {
      for (const double factor : {1.0, 2.0, 5.0}) add(factor * std::pow(10, exponent));
    }
    const bool narrow = range.high < range.low * 10 && ticks.size() < 4;
    return ticks.size() < 2 || narrow ? nice_ticks(range, wanted) : ticks;
  }
  const int every = std::max(1, int(std::ceil(double(powers) / std::max(wanted, 1))));
  for (int i = 0; i < powers; i += every) add(std::pow(10, first + i));
  return ticks;
}

std::string short_number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::abs(value);
  if (size == 0) return "0";
  if (size >= 1e15 || size < 1e-4) return formatted("%.3g", value);
  if (size >= 1e10) return formatted("%.4gG", value / 1e9);
  if (size >= 1e7) return formatted("%.4gM", value / 1e6);
  if (size >= 1e5) return formatted("%.4gk", value / 1e3);
  return formatted(size >= 1e4 ? "%.0f" : "%.4g", value);
}

Axis::Axis(Range range, bool log, int wanted_ticks) : range_(drawable(range, log)), log_(log) {
  ticks_ = log ? log_ticks(range_, wanted_ticks) : nice_ticks(range_, wanted_ticks);
}

double Axis::place(double value) const {
  if (!log_) return (value - range_.low) / (range_.high - range_.low);
  return (std::log10(value) - std::log10(range_.low)) / (std::log10(range_.high) - std::log10(range_.low));
}

Range widened(Range range, double share, bool log) {
  if (log) {
    const double low = std::log10(range.low), high = std::log10(range.high);
    const double room = high > low ? (high - low) * share : 0.5;
    return {std::max(std::pow(10, low - room), 1e-307), std::min(std::pow(10, high + room), 1e307)};
  }
  double room = (range.high - range.low) * share;
  // A smaller margin would be lost to rounding when it is added to the bounds.
  const double least = std::max(std::abs(range.low), std::abs(range.high)) * 1e-12;
  if (room <= least) room = range.low == range.high && range.low != 0 ? std::abs(range.low) * 0.1 : std::max(least, 0.5);
  if (!std::isfinite(room)) return {-1e308 / 2, 1e308 / 2};
  return {range.low - room, range.high + room};
}

}  // namespace shoal::cli::plot
