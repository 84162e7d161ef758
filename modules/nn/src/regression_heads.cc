// SPDX-License-Identifier: Apache-2.0
#include <limits>

#include "logits_head.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

/// Allows labels from `low` to `high`; NaN is refused, too.
ops::CheckRangeOptions labels_in(double low, double high) {
  return {.low = low, .high = high, .what = "label", .remedy = "drop examples without a label by filter()"};
}

constexpr double kNoLimit = std::numeric_limits<double>::infinity();

class RegressionHead final : public LogitsHead {
 public:
  /// `range` is the range of labels, `kind` the head's name in errors.
  RegressionHead(std::string kind, RegressionHeadOptions options,
                 ops::CheckRangeOptions range = labels_in(-kNoLimit, kNoLimit))
      : LogitsHead({.kind = std::move(kind),
                    .name = options.name,
                    .logits_dimension = options.label_dimension,
                    .weight_column = options.weight_column,
                    .loss_reduction = options.loss_reduction,
                    .weights_per_logit = true}),
        loss_(std::move(options.loss)),
        inverse_link_(std::move(options.inverse_link)),
        range_(std::move(range)) {
    if (options.label_dimension < 1) {
      refuse("label_dimension is " + std::to_string(options.label_dimension) + ", expected 1 or more");
    }
  }

 private:
  void add_meaning(MeaningFact& fact) const override {
    if (inverse_link_) fact.values["inverse_link"] = "yes";
  }

  void add_predictions(HeadOutput& output, Value logits) const override {
    if (!inverse_link_) {
      output.predictions = {{"predictions", logits}};
      return;
    }
    const Value predictions = inverse_link_(logits);
    if (!predictions.valid() || predictions.type() != logits.type()) {
      refuse("inverse_link made " + described(predictions) + " of logits " + described(logits) + "; expected that type");
    }
    output.predictions = {{"predictions", predictions}, {"logits", logits}};
  }

  std::vector<ExportSignature> signatures() const override {
    return {{.name = "regression", .outputs = {{"outputs", "predictions"}}}};
  }

  Value labels_of(Value labels, Value logits) const override {
    if (labels.dtype() == DType::kString) refuse("labels are text, expected numbers");
    const DimShape& shape = logits.shape();
    const bool column = logits_dimension() == 1 && labels.shape() == without_last(shape);
    if (labels.shape() != shape && !column) {
      refuse("labels are " + described(labels) + ", logits " + described(logits) + "; expected labels of shape " +
             to_string(shape) + (logits_dimension() == 1 ? " or " + to_string(without_last(shape)) : ""));
    }
    const Value numbers = column ? ops::reshape(labels, shape) : labels;
    // Labels are checked before they are converted to float32. Only then can the error for a bad label say from where its
    // row was read.
    return as_floats(ops::check_range(numbers, range_));
  }

  Value losses_of(Value labels, Value logits) const override {
    const Value losses =
        loss_ ? loss_({.labels = labels, .logits = logits}) : squared_error({.labels = labels, .predictions = logits});
    if (!losses.valid() || losses.type() != logits.type()) {
      refuse("the loss function gave " + described(losses) + ", expected one loss for each of the logits " +
             described(logits));
    }
    return losses;
  }

  std::vector<std::pair<std::string, Metric>> metrics_of(const Evaluated& evaluated) const override {
    return {{"average_loss", mean(evaluated.losses, {.weights = evaluated.weights})},
            {"label/mean", mean(evaluated.labels, {.weights = evaluated.weights})},
            {"prediction/mean", mean(evaluated.prediction("predictions"), {.weights = evaluated.weights})}};
  }

  std::function<Value(const LabelsAndLogits&)> loss_;
  std::function<Value(Value logits)> inverse_link_;
  ops::CheckRangeOptions range_;
};

}  // namespace

std::unique_ptr<Head> regression_head(RegressionHeadOptions options) {
  return std::make_unique<RegressionHead>("regression_head", std::move(options));
}

std::unique_ptr<Head> poisson_regression_head(PoissonRegressionHeadOptions options) {
  const bool full = options.full_loss;
  RegressionHeadOptions common{.label_dimension = options.label_dimension,
                               .weight_column = std::move(options.weight_column),
                               .loss_reduction = options.loss_reduction,
                               .name = std::move(options.name),
                               .loss =
                                   [full](const LabelsAndLogits& of) {
                                     return poisson_loss({.labels = of.labels, .log_rates = of.logits}, {.full = full});
                                   },
                               .inverse_link = [](Value logits) { return ops::exp(logits); }};
  return std::make_unique<RegressionHead>("poisson_regression_head", std::move(common), labels_in(0, kNoLimit));
}

std::unique_ptr<Head> logistic_regression_head(LogisticRegressionHeadOptions options) {
  RegressionHeadOptions common{.label_dimension = 1,
                               .weight_column = std::move(options.weight_column),
                               .loss_reduction = options.loss_reduction,
                               .name = std::move(options.name),
                               .loss = [](const LabelsAndLogits& of) { return sigmoid_cross_entropy(of); },
                               .inverse_link = [](Value logits) { return ops::sigmoid(logits); }};
  return std::make_unique<RegressionHead>("logistic_regression_head", std::move(common), labels_in(0, 1));
}

}  // namespace shoal::nn
