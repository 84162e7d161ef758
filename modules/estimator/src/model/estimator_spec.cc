// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/estimator_spec.h"

#include "shoal/estimator/model_fn.h"

namespace shoal {

EstimatorSpec::EstimatorSpec(nn::HeadOutput head)
    : mode(head.mode),
      loss(head.loss),
      train_op(std::move(head.train_op)),
      predictions(std::move(head.predictions)),
      text_predictions(std::move(head.text_predictions)),
      export_outputs(std::move(head.signatures)),
      eval_metrics(std::move(head.metrics)) {}

EstimatorSpec::EstimatorSpec() = default;
EstimatorSpec::EstimatorSpec(const EstimatorSpec&) = default;
EstimatorSpec::EstimatorSpec(EstimatorSpec&&) noexcept = default;
EstimatorSpec& EstimatorSpec::operator=(const EstimatorSpec&) = default;
EstimatorSpec& EstimatorSpec::operator=(EstimatorSpec&&) noexcept = default;
EstimatorSpec::~EstimatorSpec() = default;

InitialValue::InitialValue(nn::InitializerSpec initializer)
    : initializer_(std::make_shared<const nn::InitializerSpec>(initializer)) {}
InitialValue::InitialValue(Initializer initializer) : InitialValue(nn::InitializerSpec(initializer)) {}
InitialValue::InitialValue(Tensor values) : values_(std::make_shared<const Tensor>(std::move(values))) {}

EstimatorSpec ModelFn::operator()(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                  const RunConfig& config) const {
  return call_({features, labels, mode, params, config});
}

}  // namespace shoal
