// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics for two classes: labels are 0 or 1, predictions are probabilities of class 1. A label that is neither 0 nor 1
/// ends the evaluation with InvalidArgument. If an example has several labels, each of them counts.
#include "shoal/nn/metrics.h"

namespace shoal::nn {

struct BinaryMetricOptions {
  Value weights = {};      ///< One weight per label, as in MetricOptions.
  double threshold = 0.5;  ///< Predictions above the threshold count as class 1, all others as class 0.
};

// Labels and predictions are of any numeric type (predictions of 0 and 1 are allowed) and of one shape; a last axis of 1
// may be missing. All functions raise InvalidArgument, naming both shapes or types, if labels and predictions do not fit.

/// The weighted fraction of the examples whose predicted class is right; 0 if the weights sum to 0.
Metric binary_accuracy(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// The weighted fraction of class 1 among the examples that were predicted as class 1; 0 if there are none.
Metric precision(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// The weighted fraction of the examples of class 1 that were predicted as class 1; 0 if there are none.
Metric recall(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// The accuracy of always predicting the more frequent class: the larger of the labels' mean and 1 minus that mean; 0 if
/// the weights sum to 0.
Metric accuracy_baseline(Value labels, const MetricOptions& options = {});

/// The area under the receiver operating characteristic: the (weighted) fraction of all pairs of a positive and a negative
/// example in which the positive one has the higher prediction; pairs with equal predictions count half (Hanley, McNeil,
/// "The meaning and use of the area under a receiver operating characteristic (ROC) curve", 1982). 0 without positives or
/// negatives.
///
///   labels       0 or 1, any numeric type, e.g. [batch] or [batch, 1]
///   predictions  float32 probabilities, as many as labels
///   logits       float32 of any size, infinities included, in place of probabilities. Better for a model that is sure of
///                its predictions: from a logit of 17.4 on, the probability in float32 is 1 and such examples count as equal
///
/// The result is exact up to the rounding of sums if the evaluation has at most 16,384 different predictions. With more,
/// neighbouring ones are grouped and count as equal: about 1/4000 of the negatives and of the positives in a group, and no
/// more than 1/1000 of the examples with higher predictions. So the result is within 0.01 of the exact area wherever the
/// predictions lie (measured with up to 5 million, in several orders: 0.0001). The metric takes 0.8 MB of memory. Raises
/// InvalidArgument if shapes or types do not fit; a label or a prediction out of range, or a logit that is not a number,
/// ends the evaluation with InvalidArgument.
Metric auc(const LabelsAndPredictions& of, const MetricOptions& options = {});
Metric auc(const LabelsAndLogits& of, const MetricOptions& options = {});

/// The area under the precision-recall curve, with the groups of auc(). From one prediction to the next, true and false
/// positives are assumed to grow in proportion, since a straight line between two precisions would be too optimistic
/// (Davis, Goadrich, "The relationship between precision-recall and ROC curves", 2006). 0 without positives. Arguments and
/// errors as in auc(). The metric's figure is the curve at 101 thresholds for the probability.
Metric auc_precision_recall(const LabelsAndPredictions& of, const MetricOptions& options = {});
Metric auc_precision_recall(const LabelsAndLogits& of, const MetricOptions& options = {});

}  // namespace shoal::nn
