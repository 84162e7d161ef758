// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signatures of a model: whether they fit its predictions, and the one that is there without any.
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/estimator_spec.h"

namespace shoal {

/// CONTRACT EST-6: names and outputs are there and distinct, keys are predictions, and of several signatures one is the
/// default.
Result<void> check_signatures(const std::vector<nn::ExportSignature>& signatures, const EstimatorSpec& spec);
/// The spec's signatures, the default one first and under its own name; without any, one over all predictions.
std::vector<nn::ExportSignature> signatures_of(const EstimatorSpec& spec);

}  // namespace shoal
