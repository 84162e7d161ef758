// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Signatures of a model (named sets of outputs): checks them against its predictions, and makes the default one.
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/estimator/estimator_spec.h"

namespace shoal {

/// Checks signatures: names and outputs exist and differ, keys are predictions, and of several signatures one is the
/// default. InvalidArgument.
Result<void> check_signatures(const std::vector<nn::ExportSignature>& signatures, const EstimatorSpec& spec);
/// The spec's signatures, the default one first, under their own names. If there are none: one signature with all
/// predictions.
std::vector<nn::ExportSignature> signatures_of(const EstimatorSpec& spec);

}  // namespace shoal
