// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics of one's own beside those of an estimator's model.
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/estimator/estimator.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/value_map.h"

namespace shoal {

/// What a metrics function is given, while the model of an evaluation is built. Valid during the call.
struct MetricsInput {
  const Features& features;
  const Labels& labels;
  const nn::ValueMap& predictions;
};
using MetricsFn = std::function<NamedMetrics(const MetricsInput& input)>;

/// An estimator of the same model, configuration and folder whose evaluations have these metrics too. One of a name that
/// the model has takes its place.
///
///   estimator = shoal::add_metrics(estimator, [](const shoal::MetricsInput& of) -> shoal::NamedMetrics {
///     const shoal::LabelsAndPredictions both{.labels = of.labels.single(), .predictions = of.predictions["predictions"]};
///     return {{"rmse", shoal::nn::root_mean_squared_error(both)}};
///   });
///
/// Raises InvalidArgument if `metrics` is empty. What it throws comes out of evaluate(), unchanged.
Estimator add_metrics(Estimator estimator, MetricsFn metrics);

}  // namespace shoal
