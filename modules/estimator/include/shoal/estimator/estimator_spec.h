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

/// kTrain needs loss and train_op, kEval loss, kPredict predictions; what a mode does not need is ignored.
struct EstimatorSpec {
  Mode mode = Mode::kTrain;
  Value loss = {};  ///< A scalar, or one element.
  std::optional<nn::TrainOp> train_op;
  std::vector<std::pair<std::string, Value>> predictions;  ///< A lone tensor may have the name "".
  std::vector<nn::TextPrediction> text_predictions;        ///< Texts are made on the host from predictions of ids.
  /// How an exported model can be called (kPredict only). Empty: one signature over all predictions. Of several one has the
  /// name nn::kDefaultSignature.
  std::vector<nn::ExportSignature> export_outputs;
  /// The names `loss` and `global_step` are reserved.
  std::vector<std::pair<std::string, nn::Metric>> eval_metrics;
  /// Recorded while training, as `loss` is: one float32 as a scalar, more as a histogram. Names under which
  /// training records itself (`loss`, `global_step/sec`, `job/loss`, ...) are refused.
  std::vector<std::pair<std::string, Value>> summaries;
  /// Images that training records with the summaries (image_summary.h). Each has a name of its own among them.
  std::vector<ImageSummary> image_summaries;
  /// Values of the graph for hooks to find by these names (HookSetup::value()): what log_values() logs, say. `loss`,
  /// predictions, summaries, variables and inputs have names without it, and neither theirs nor a metric's may be one of these
  /// for another value.
  std::vector<std::pair<std::string, Value>> named_values;
  /// Other starts for variables than their layers say, by patterns: regular expressions (ECMAScript's) that match a whole
  /// name. Of several that match, the last counts.
  ///
  ///   spec.initial_values = {{"conv.*/kernel", nn::he_normal()}, {"out/bias", Tensor::of<float>({3}, {-1, 0, 1})}};
  ///
  /// An initializer takes its fans from the variable's shape. How a variable starts is decided in this order, of which
  /// what comes later counts: its layer's initializer; this; a warm start, where it brings the variable (rows that it does
  /// not bring start as said here, unless it has a backup_initializer); a checkpoint in model_dir, which brings all. Values
  /// of an optimizer are not variables. What evaluate(), predict() and export_model() use without a checkpoint starts the
  /// same way, so give it in all modes.
  ///
  /// InvalidArgument in kTrain for a pattern that matches no variable, listing the names; in all modes for no regular
  /// expression, values of another type or shape than the variable's, and an initializer that cannot make it.
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
  /// Takes everything that a head makes.
  EstimatorSpec(nn::HeadOutput head);  // NOLINT: a head's output is one
};

}  // namespace shoal
