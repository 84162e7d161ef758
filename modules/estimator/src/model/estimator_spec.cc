// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/estimator_spec.h"

namespace shoal {

EstimatorSpec::EstimatorSpec(nn::HeadOutput head)
    : mode(head.mode),
      loss(head.loss),
      train_op(std::move(head.train_op)),
      predictions(std::move(head.predictions)),
      text_predictions(std::move(head.text_predictions)),
      export_outputs(std::move(head.signatures)),
      eval_metrics(std::move(head.metrics)) {}

}  // namespace shoal
