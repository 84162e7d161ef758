// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Smooths a noisy curve.
#include <vector>

namespace shoal::cli::plot {

/// The exponential moving average with `weight` in [0, 1) of what came before, divided by the sum of its weights, so that the first
/// values are not drawn towards zero: s(n) = sum of weight^(n-i) v(i) / sum of weight^(n-i). Values that are not finite stay as they
/// are and take no part. Weight 0 gives the values themselves.
/// Source: TensorBoard, tensorboard/components/vz_line_chart2/line-chart.ts, resmoothDataset().
std::vector<double> smoothed(const std::vector<double>& values, double weight);

}  // namespace shoal::cli::plot
