// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The parts that models of canned estimators are sums of.
#include <string>
#include <utility>
#include <vector>

#include "shoal/estimator/canned.h"

namespace shoal::canned {

/// Logits, how the variables behind them are trained, and what is recorded of them.
struct Part {
  Value logits;  ///< [batch, units] float32.
  nn::Optimizer optimizer;
  std::string scope;                                     ///< Its variables are those below this name: "linear/".
  std::vector<std::pair<std::string, Value>> summaries;  ///< Empty but in kTrain.
};

/// `rate_max` bounds the default learning rate.
Part linear_part(const LinearOptions& options, const Features& features, int64_t units, Mode mode, double rate_max);
/// `rate` is the default learning rate.
Part deep_part(const DnnOptions& options, const Features& features, int64_t units, Mode mode, double rate);
Part baseline_part(const BaselineOptions& options, const Features& features, int64_t units);

/// InvalidArgument for hidden units, columns or a dropout rate that cannot be.
void check_deep(const DnnOptions& options);
void check_linear(const LinearOptions& options);

}  // namespace shoal::canned
