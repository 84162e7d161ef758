// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a model_fn returns: the model of one mode.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/estimator/image_summary.h"
#include "shoal/estimator/initial_value.h"
#include "shoal/estimator/mode.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/export_signature.h"
#include "shoal/nn/head.h"
#include "shoal/nn/metrics.h"
#include "shoal/nn/train_op.h"

namespace shoal {

class Hook;

/// The model for one mode. In mode kTrain set loss and train_op, in kEval loss, in kPredict predictions. Members that the
/// mode does not need are ignored.
struct EstimatorSpec {
  Mode mode = Mode::kTrain;
  Value loss = {};  ///< A scalar, or a tensor of one element.
  std::optional<nn::TrainOp> train_op;
  std::vector<std::pair<std::string, Value>> predictions;  ///< Predictions by name; a lone one may have the name "".
  std::vector<nn::TextPrediction> text_predictions;        ///< Predicted ids for which Shoal also returns texts.
  /// The sets of predictions for which callers of an exported model can ask by name (kPredict only). Empty: one set with
  /// all predictions. If there are several, one of them must have the name nn::kDefaultSignature.
  std::vector<nn::ExportSignature> export_outputs;
  /// The names `loss` and `global_step` are reserved.
  std::vector<std::pair<std::string, nn::Metric>> eval_metrics;
  /// Training records these values beside `loss`: a single float32 as a scalar, several as a histogram. Names that training
  /// uses itself (`loss`, `global_step/sec`, `job/loss`, ...) are refused.
  std::vector<std::pair<std::string, Value>> summaries;
  /// Images that training records with the summaries (image_summary.h). Their names differ from each other.
  std::vector<ImageSummary> image_summaries;
  /// Values of the graph that hooks such as log_values() find by these names (HookSetup::value()). `loss`, predictions,
  /// summaries, variables and inputs need no entry here. A name that one of these, or a metric, already has is refused
  /// here, unless it stands for the same value.
  std::vector<std::pair<std::string, Value>> named_values;
  /// Replaces the initializers of variables. The keys are patterns: regular expressions (shoal/graph/name_pattern.h) that match
  /// a whole name. If several patterns match a variable, the last one counts.
  ///
  ///   spec.initial_values = {{"conv.*/kernel", nn::he_normal()}, {"out/bias", Tensor::of<float>({3}, {-1, 0, 1})}};
  ///
  /// An initializer takes fan-in and fan-out from the variable's shape. Of these four, the last one that exists decides how
  /// a variable starts: its layer's initializer; this field; a warm start that has the variable; a checkpoint in model_dir,
  /// which has all variables. Rows for which a warm start has no values start as this field says, unless the warm start has
  /// a backup_initializer. This field does not apply to the values that an optimizer keeps. Without a checkpoint,
  /// evaluate(), predict() and export_model() start the same way, so set this field in all modes.
  ///
  /// InvalidArgument: in kTrain a pattern that matches no variable (the error lists the names); in all modes an invalid
  /// regular expression, values of another type or shape than the variable's, and an initializer that cannot make them.
  std::vector<std::pair<std::string, InitialValue>> initial_values;
  std::vector<std::shared_ptr<Hook>> training_hooks;        ///< Hooks on every trainer.
  std::vector<std::shared_ptr<Hook>> training_chief_hooks;  ///< Hooks on the chief only.
  std::vector<std::shared_ptr<Hook>> evaluation_hooks;
  std::vector<std::shared_ptr<Hook>> prediction_hooks;

  EstimatorSpec();
  EstimatorSpec(const EstimatorSpec&);
  EstimatorSpec(EstimatorSpec&&) noexcept;
  EstimatorSpec& operator=(const EstimatorSpec&);
  EstimatorSpec& operator=(EstimatorSpec&&) noexcept;
  ~EstimatorSpec();
  /// Takes over all results of a head: loss, predictions, metrics and so on.
  EstimatorSpec(nn::HeadOutput head);  // NOLINT: an implicit conversion
};

}  // namespace shoal
