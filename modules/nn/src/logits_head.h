// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The base of heads that have one tensor of logits and one of labels.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "example_values.h"
#include "metric_values.h"
#include "shoal/nn/head.h"

namespace shoal::nn {

struct LogitsHeadOptions {
  std::string kind;  ///< The head's name in errors: "binary_head".
  std::string name;
  int64_t logits_dimension;
  std::string weight_column;
  LossReduction loss_reduction;
  bool weights_per_logit = false;  ///< True: an example may have a weight for each of its logits.
};

class LogitsHead : public Head {
 public:
  explicit LogitsHead(LogitsHeadOptions options) : common_(std::move(options)) {}
  std::string_view name() const final { return common_.name; }
  int64_t logits_dimension() const final { return common_.logits_dimension; }
  HeadOutput describe(const HeadInput& input) const final;

 protected:
  /// The values that metrics of an evaluation use.
  struct Evaluated {
    const std::vector<std::pair<std::string, Value>>& predictions;
    Value labels;   ///< The result of labels_of().
    Value losses;   ///< One for each label.
    Value weights;  ///< Float32, one per label or one per logit. An invalid Value: all are 1.

    /// Returns the prediction that add_predictions() has set under this key.
    Value prediction(std::string_view key) const;
  };

  virtual void add_predictions(HeadOutput& output, Value logits) const = 0;
  /// The signatures besides `predict`. The first one is also exported as the default signature.
  virtual std::vector<ExportSignature> signatures() const = 0;
  /// Converts labels from the form in which the input function gives them to the form that losses_of() takes.
  virtual Value labels_of(Value labels, Value logits) const = 0;
  /// Computes one loss for each label, [...], or one for each logit, [..., k].
  virtual Value losses_of(Value labels, Value logits) const = 0;
  /// Adds to `fact` what the logits stand for: names of classes, or a link function. `fact` has their number already.
  virtual void add_meaning(MeaningFact& fact) const = 0;
  /// Factors, one for each label, that multiply the losses in addition to the example weights. An invalid Value: none.
  virtual Value class_weights_of(Value labels) const;
  /// The metrics, named without the head's name.
  virtual std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const = 0;

  std::string who() const { return common_.name.empty() ? common_.kind : common_.kind + " " + common_.name; }
  [[noreturn]] void refuse(const std::string& what) const { raise(invalid_argument(who() + ": " + what)); }
  /// Returns `value` with one number per example: with the shape of `logits`, but without its last axis. `value` may have
  /// an additional last axis of size 1. Error messages call `value` by the name `what`.
  Value per_example(std::string_view what, Value value, Value logits) const;
  /// The vocabulary with the names of the classes; null without names. Raises InvalidArgument unless there are exactly
  /// `classes` distinct names.
  std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<std::string>& names, int64_t classes) const;
  /// Converts text by the vocabulary and leaves numbers as they are. Raises InvalidArgument for text without a
  /// vocabulary, and for numbers with one.
  Value numbers_of(Value labels, const std::shared_ptr<const Vocabulary>& vocabulary,
                   std::vector<std::string> missing) const;
  void check_thresholds(const std::vector<double>& thresholds) const;
  void check_class_weights(const std::vector<double>& weights, int64_t classes) const;
  /// Returns the weights of the classes `ids` [...]; an invalid value if `weights` is empty.
  static Value looked_up(const std::vector<double>& weights, Value ids);

 private:
  void check_logits(Value logits) const;
  Value single_labels(const HeadInput& input) const;
  Value weights_of(const HeadInput& input) const;

  LogitsHeadOptions common_;
};

/// Turns [..., 1] into [..., classes], in which each row is 0, 1, ..., classes - 1; int64.
Value all_class_ids(Value class_ids, int64_t classes);
/// The signature with the names of classes and their probabilities.
ExportSignature classification(std::string classes);
/// The signature with all predictions.
ExportSignature predict_signature(const HeadOutput& output);
/// Appends accuracy, precision and recall at each threshold, named "accuracy/positive_threshold_<t>" and so on.
void add_threshold_metrics(std::vector<std::pair<std::string, Metric>>& metrics, const std::vector<double>& thresholds,
                           Value labels, Value probabilities, Value weights);

}  // namespace shoal::nn
