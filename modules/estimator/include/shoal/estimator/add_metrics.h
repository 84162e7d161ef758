// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds metrics of the program's own to those of an estimator's model.
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/std_function.h"
#include "shoal/estimator/estimator.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/value_map.h"

namespace shoal {

/// The arguments of a metrics function, which runs while the model of an evaluation is built. The references are valid
/// during the call.
struct MetricsInput {
  const Features& features;
  const Labels& labels;
  const nn::ValueMap& predictions;
};
using MetricsFn = std::function<NamedMetrics(const MetricsInput& input)>;

/// Returns an estimator of the same model, configuration and folder whose evaluations also compute these metrics. A metric
/// that has the name of one of the model's metrics replaces that one.
///
///   estimator = shoal::add_metrics(estimator, [](const shoal::MetricsInput& of) -> shoal::NamedMetrics {
///     const shoal::LabelsAndPredictions both{.labels = of.labels.single(), .predictions = of.predictions["predictions"]};
///     return {{"rmse", shoal::nn::root_mean_squared_error(both)}};
///   });
///
/// Raises InvalidArgument if `metrics` is empty. If `metrics` throws an exception, evaluate() throws the same exception.
Estimator add_metrics(Estimator estimator, MetricsFn metrics);

}  // namespace shoal
