// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Starts the variables of a new model from another model: a checkpoint, an exported model, or a safetensors or NPZ file
/// that another program wrote.
///
/// A warm start happens only where `model_dir` has no checkpoint: then training, evaluate(), predict() and export_model()
/// begin with it, at global step 0. Once there is a checkpoint, that is used, and the source is not read again.
///
///   estimator.warm_start({.from = "m1"});                           all trainable variables
///   estimator.warm_start({.from = "m1", .variables = "conv/.*"});   some of them
///   estimator.warm_start({.from = "cnn.safetensors",               a layer of PyTorch
///                         .layers = {{"dense", from_pytorch::linear("fc1")}}});
///
/// Everything else starts as without a warm start: the global step, the optimizer's values, the position in the input, and
/// by default the moving statistics.
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "shoal/estimator/layer_weights.h"
#include "shoal/estimator/source_tensor.h"
#include "shoal/nn/initializers.h"

namespace shoal {

/// Says how the vocabulary differs between the two models, for a variable whose rows (its first axis) stand for tokens: a
/// table of embeddings, or kernel and bias of the layer that computes the logits of classes. Rows of tokens in the old
/// vocabulary are copied. All other rows, also those behind the end of the vocabulary, start as `backup_initializer` says.
struct VocabularyChange {
  std::vector<std::string> old_tokens{};  ///< Tokens of the source's rows 0, 1, ... (for example Vocabulary::names()).
  std::vector<std::string> new_tokens{};  ///< Tokens of the model's rows 0, 1, ...
  std::optional<nn::InitializerSpec> backup_initializer = std::nullopt;  ///< None: the variable's own initializer.
};

/// Chooses variables of the model. One pattern, "conv/.*", chooses among the trainable ones. A list, {"conv/.*"}, chooses
/// among all variables, moving statistics too, but never values of an optimizer. std::nullopt chooses only the variables in
/// WarmStart::layers, ::names and ::vocabularies.
class WarmStartChoice {
 public:
  WarmStartChoice(const char* pattern);                               // NOLINT
  WarmStartChoice(std::string_view pattern);                          // NOLINT
  WarmStartChoice(std::string pattern);                               // NOLINT
  WarmStartChoice(std::initializer_list<std::string_view> patterns);  // NOLINT
  WarmStartChoice(std::vector<std::string> patterns);                 // NOLINT
  WarmStartChoice(std::nullopt_t) : named_only_(true) {}              // NOLINT

  const std::vector<std::string>& patterns() const { return patterns_; }
  bool trainable_only() const { return trainable_only_; }
  bool named_only() const { return named_only_; }

 private:
  std::vector<std::string> patterns_;
  bool trainable_only_ = false;
  bool named_only_ = false;
};

/// Patterns are regular expressions (shoal/graph/name_pattern.h) that match a whole name: "conv/.*" names all variables in
/// that scope, "conv" only a variable of just that name.
///
/// Mistakes raise errors in the call that applies the warm start, before its first step. Errors list the existing names.
/// InvalidArgument: a pattern, a name or a layer that fits no variable; tensors that the source lacks (all in one message);
/// variables whose shape or element type is not that in the source (with a VocabularyChange, the number of rows may
/// differ); a layer with a tensor for which the model has no variable; more tokens than a variable has rows. NotFound:
/// nothing exists at `from`. DataLoss, naming the file: the file is damaged. FailedPrecondition: the file has another
/// format.
/// A model may have other variables in kEval and kPredict than in kTrain. In these two modes, names that the model lacks
/// are skipped, as long as something is warm-started.
struct WarmStart {
  /// The prefix of a checkpoint ("m1/model.ckpt-200"), a folder of checkpoints (the newest is taken), the folder of an
  /// exported model, or a file that TensorFile::open() takes: safetensors, an index of several of those, or NPZ. Required.
  std::string from = {};
  /// Default: all trainable variables. Each pattern has to match at least one variable.
  WarmStartChoice variables = ".*";
  /// Maps a layer of the model, by the scope of its variables ("dense"), to the layer of another program from which it
  /// starts. All variables of such a layer, moving statistics too, start from the source, in addition to those that
  /// `variables` chooses.
  std::map<std::string, LayerWeights> layers = {};
  /// Maps a variable of the model to its tensor in the source, where the name or the layout differs. Takes precedence over
  /// `layers`.
  std::map<std::string, SourceTensor> names = {};
  /// Maps a variable of the model to its change of vocabulary; rows are then copied token by token.
  std::map<std::string, VocabularyChange> vocabularies = {};
};

}  // namespace shoal
