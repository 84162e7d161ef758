// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signatures of a model (named sets of outputs): checks them and its text predictions against its predictions, and makes the
/// default signature.
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/estimator_spec.h"

namespace shoal {

/// InvalidArgument unless each text prediction has a source among the predictions, which are ids (int64) unless it is by
/// position.
Result<void> check_text_predictions(const EstimatorSpec& spec);
/// InvalidArgument unless each signature has a name of its own and at least one output, the outputs of a signature have
/// different names, and each output is a prediction of the model. One of several signatures has to be the default one.
Result<void> check_signatures(const std::vector<nn::ExportSignature>& signatures, const EstimatorSpec& spec);
/// The spec's signatures, the default one first, under their own names. If there are none: one signature with all
/// predictions.
std::vector<nn::ExportSignature> signatures_of(const EstimatorSpec& spec);

}  // namespace shoal
