// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/add_metrics.h"

#include <algorithm>

namespace shoal {

Estimator add_metrics(Estimator estimator, MetricsFn metrics) {
  if (!metrics) raise(invalid_argument("add_metrics: there is no metrics function"));
  ModelFn model = std::move(estimator.model_fn_);
  const bool takes_labels = model.takes_labels();
  auto with_metrics = [model = std::move(model), metrics = std::move(metrics)](
                          const Features& features, const Labels& labels, Mode mode, const Params& params,
                          const RunConfig& config) {
    EstimatorSpec spec = model(features, labels, mode, params, config);
    if (mode != Mode::kEval) return spec;
    nn::ValueMap predictions;
    for (const auto& [name, value] : spec.predictions) predictions.set(name, value);
    for (auto& [name, metric] : metrics({features, labels, predictions})) {
      std::erase_if(spec.eval_metrics, [&name = name](const auto& there) { return there.first == name; });
      spec.eval_metrics.emplace_back(std::move(name), std::move(metric));
    }
    return spec;
  };
  if (takes_labels) {
    estimator.model_fn_ = std::move(with_metrics);
  } else {
    // The user's model function takes no labels. The function made here takes none, too, so that an input with labels is
    // still refused.
    estimator.model_fn_ = [with_metrics = std::move(with_metrics)](const Features& features, Mode mode,
                                                                   const Params& params, const RunConfig& config) {
      return with_metrics(features, Labels(), mode, params, config);
    };
  }
  return estimator;
}

}  // namespace shoal
