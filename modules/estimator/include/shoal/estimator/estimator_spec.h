#pragma once
/// What a model_fn returns: the model of one mode.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

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
  std::optional<nn::TrainOp> train_op = {};
  std::vector<std::pair<std::string, Value>> predictions = {};  ///< A lone tensor may have the name "".
  std::vector<nn::TextPrediction> text_predictions = {};        ///< Texts are made on the host from predictions of ids.
  /// How an exported model can be called (kPredict only). Empty: one signature over all predictions. Of several one has the
  /// name nn::kDefaultSignature.
  std::vector<nn::ExportSignature> export_outputs = {};
  /// The names `loss` and `global_step` are reserved.
  std::vector<std::pair<std::string, nn::Metric>> eval_metrics = {};
  /// Recorded while training, as `loss` is: one float32 as a scalar, more as a histogram.
  std::vector<std::pair<std::string, Value>> summaries = {};
  std::vector<std::shared_ptr<Hook>> training_hooks = {};        ///< Hooks on every trainer.
  std::vector<std::shared_ptr<Hook>> training_chief_hooks = {};  ///< Hooks on the chief only.
  std::vector<std::shared_ptr<Hook>> evaluation_hooks = {};
  std::vector<std::shared_ptr<Hook>> prediction_hooks = {};

  EstimatorSpec() = default;
  /// Takes everything that a head makes.
  EstimatorSpec(nn::HeadOutput head);  // NOLINT: a head's output is one
};

}  // namespace shoal
