// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics for predicted numbers. Labels and predictions are of any numeric type and of one shape; a last axis of 1 may be
/// missing. All functions raise InvalidArgument, naming both shapes or types, if they do not fit.
#include "shoal/nn/metrics.h"

namespace shoal::nn {

/// The weighted mean of |prediction - label|; 0 if the weights sum to 0.
Metric mean_absolute_error(const LabelsAndPredictions& of, const MetricOptions& options = {});
/// The root of the weighted mean of (prediction - label)^2; 0 if the weights sum to 0.
Metric root_mean_squared_error(const LabelsAndPredictions& of, const MetricOptions& options = {});
/// The coefficient of determination, 1 - sum(w (label - prediction)^2) / sum(w (label - mean label)^2): at best 1, and 0
/// for a model that always predicts the mean. If all labels are equal: 1 if all predictions are right, else 0, as in
/// scikit-learn. The variance of the labels is accumulated and merged as in Chan, Golub, LeVeque, "Updating formulae and a
/// pairwise algorithm for computing sample variances" (1979).
Metric r_squared(const LabelsAndPredictions& of, const MetricOptions& options = {});

}  // namespace shoal::nn
