// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts of the canned estimators' models. The logits of a model are the sum of the logits of its parts.
#include <string>
#include <utility>
#include <vector>

#include "shoal/estimator/canned.h"

namespace shoal::canned {

/// One part of a canned model: its logits, the optimizer of its variables, and its summaries.
struct Part {
  Value logits;  ///< [batch, units] float32.
  nn::Optimizer optimizer;
  std::string scope;                                     ///< The prefix of the part's variable names: "linear/".
  std::vector<std::pair<std::string, Value>> summaries;  ///< Empty in all modes but kTrain.
};

/// `rate_max` bounds the default learning rate.
Part linear_part(const LinearOptions& options, const Features& features, int64_t units, Mode mode, double rate_max);
/// `rate` is the default learning rate.
Part deep_part(const DnnOptions& options, const Features& features, int64_t units, Mode mode, double rate);
Part baseline_part(const BaselineOptions& options, const Features& features, int64_t units);

/// InvalidArgument for hidden units, columns or a dropout rate that are impossible.
void check_deep(const DnnOptions& options);
void check_linear(const LinearOptions& options);

}  // namespace shoal::canned
