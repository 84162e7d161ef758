// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Smooths a noisy curve.
#include <vector>

namespace shoal::cli::plot {

/// Returns the exponential moving average with `weight` in [0, 1): s(n) = sum of weight^(n-i) v(i) / sum of weight^(n-i),
/// over all i up to n. The division by the sum of the weights keeps the first values from being drawn towards zero. Values
/// that are not finite stay unchanged and do not enter the average. Weight 0 returns the values unchanged.
/// Source: TensorBoard, tensorboard/components/vz_line_chart2/line-chart.ts, resmoothDataset().
std::vector<double> smoothed(const std::vector<double>& values, double weight);

}  // namespace shoal::cli::plot
