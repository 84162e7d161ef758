// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What heads with one tensor of logits and one of labels share.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "example_values.h"
#include "metric_values.h"
#include "shoal/nn/head.h"

namespace shoal::nn {

struct LogitsHeadOptions {
  std::string kind;  ///< What errors call it: "binary_head".
  std::string name;
  int64_t logits_dimension;
  std::string weight_column;
  LossReduction loss_reduction;
  bool weights_per_logit = false;  ///< Whether weights may have the logits' shape, too.
};

class LogitsHead : public Head {
 public:
  explicit LogitsHead(LogitsHeadOptions options) : common_(std::move(options)) {}
  std::string_view name() const final { return common_.name; }
  int64_t logits_dimension() const final { return common_.logits_dimension; }
  HeadOutput describe(const HeadInput& input) const final;

 protected:
  /// What an evaluation looks at.
  struct Evaluated {
    const std::vector<std::pair<std::string, Value>>& predictions;
    Value labels;   ///< As labels_of() made them.
    Value losses;   ///< One for each label.
    Value weights;  ///< Float32, [...] or per logit; invalid: all are 1.

    /// The prediction of a key that add_predictions() gives.
    Value prediction(std::string_view key) const;
  };

  virtual void add_predictions(HeadOutput& output, Value logits) const = 0;
  /// Beside `predict`; the first is the default one, too.
  virtual std::vector<ExportSignature> signatures() const = 0;
  /// Labels as the losses take them, from what the input function gave.
  virtual Value labels_of(Value labels, Value logits) const = 0;
  /// [...] or [..., k].
  virtual Value losses_of(Value labels, Value logits) const = 0;
  /// What the logits stand for, beside their number: the names of classes, a link.
  virtual void add_meaning(MeaningFact& fact) const = 0;
  /// What the losses are multiplied with beside the example weights, [...]; invalid: nothing.
  virtual Value class_weights_of(Value labels) const;
  /// Named without tag.
  virtual std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const = 0;

  std::string who() const { return common_.name.empty() ? common_.kind : common_.kind + " " + common_.name; }
  [[noreturn]] void refuse(const std::string& what) const { raise(invalid_argument(who() + ": " + what)); }
  /// `value`, which sentences call `what`, as [...] where the logits are [..., k]: it comes like that or as [..., 1].
  Value per_example(std::string_view what, Value value, Value logits) const;
  /// The names of the classes; null without. Raises InvalidArgument unless there are `classes` distinct ones.
  std::shared_ptr<const Vocabulary> vocabulary_of(const std::vector<std::string>& names, int64_t classes) const;
  /// Text through the vocabulary, numbers as they are; raises InvalidArgument where labels and vocabulary do not go
  /// together.
  Value numbers_of(Value labels, const std::shared_ptr<const Vocabulary>& vocabulary,
                   std::vector<std::string> missing) const;
  void check_thresholds(const std::vector<double>& thresholds) const;
  void check_class_weights(const std::vector<double>& weights, int64_t classes) const;
  /// Looks ids [...] up in `weights`; invalid where those are empty.
  static Value looked_up(const std::vector<double>& weights, Value ids);

 private:
  void check_logits(Value logits) const;
  Value single_labels(const HeadInput& input) const;
  Value weights_of(const HeadInput& input) const;

  LogitsHeadOptions common_;
};

/// The shortest text that gives the number back: "0.25".
std::string shortest(double number);
/// [..., 1] to [..., classes]: each row 0, 1, ..., classes - 1, int64.
Value all_class_ids(Value class_ids, int64_t classes);
/// Classes by name and their probabilities.
ExportSignature classification(std::string classes);
/// The signature of all predictions.
ExportSignature predict_signature(const HeadOutput& output);
/// Appends the metrics accuracy/positive_threshold_t, precision/... and recall/... for each threshold t.
void add_threshold_metrics(std::vector<std::pair<std::string, Metric>>& metrics, const std::vector<double>& thresholds,
                           Value labels, Value probabilities, Value weights);

}  // namespace shoal::nn
