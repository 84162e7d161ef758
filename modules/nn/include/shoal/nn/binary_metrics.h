// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Metrics of two classes: labels are 0 or 1, predictions probabilities of class 1. A label that is neither ends the
/// evaluation with InvalidArgument. Of several labels for each example every one counts.
#include "shoal/nn/metrics.h"

namespace shoal::nn {

struct BinaryMetricOptions {
  Value weights = {};      ///< As in MetricOptions, per label.
  double threshold = 0.5;  ///< Predictions above it count as class 1, the others (one as high as it, too) as class 0.
};

// Labels are of any numeric type, predictions too (0 and 1 will do), of one shape but for a last axis of 1. All raise
// InvalidArgument with both shapes or types if they do not fit.

/// The weighted part of the examples that were taken for what they are; 0 if the weights sum to 0.
Metric binary_accuracy(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// Of the examples that were taken for class 1, the weighted part that is; 0 if there are none.
Metric precision(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// Of the examples of class 1, the weighted part that was taken for it; 0 if there are none.
Metric recall(const LabelsAndPredictions& of, const BinaryMetricOptions& options = {});
/// How good it is always to say the class that is more frequent: the larger of the labels' mean and 1 less that; 0 if the
/// weights sum to 0.
Metric accuracy_baseline(Value labels, const MetricOptions& options = {});

/// The area under the receiver operating characteristic: the (weighted) part of all pairs of a positive and a negative
/// example in which the positive one has the higher prediction; pairs of equal ones count half (Hanley, McNeil, "The
/// meaning and use of the area under a receiver operating characteristic (ROC) curve", 1982). 0 without positives or
/// negatives.
///
///   labels       0 or 1, any numeric type, e.g. [batch] or [batch, 1]
///   predictions  float32 probabilities, as many
///
/// Predictions are compared by 2,562 thresholds, 32 to each halving of p and of 1 - p down to 2^-40: within 0.01 of the
/// exact area also where nearly all are close to 0 or 1. Raises InvalidArgument if shapes or types do not fit; a label or a
/// prediction out of range ends the evaluation with InvalidArgument.
Metric auc(const LabelsAndPredictions& of, const MetricOptions& options = {});

/// The area under precision over recall, by the same thresholds as auc(). Between two of them true and false positives are
/// taken to grow in proportion, since a straight line between two precisions would promise too much (Davis, Goadrich, "The
/// relationship between precision-recall and ROC curves", 2006). 0 without positives. Arguments and errors as in auc().
/// Its figure is the curve at 101 thresholds.
Metric auc_precision_recall(const LabelsAndPredictions& of, const MetricOptions& options = {});

}  // namespace shoal::nn
