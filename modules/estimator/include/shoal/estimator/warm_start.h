// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Starts the variables of a new model from those of another one: a checkpoint's, an exported model's, or those that another
/// program wrote to a safetensors or NPZ file.
///
/// It happens only where `model_dir` has no checkpoint: there training, evaluate(), predict() and export_model() begin with
/// it, at global step 0. Once there is a checkpoint, that is what counts, and the source is not read again.
///
///   estimator.warm_start({.from = "m1"});                           all trainable variables
///   estimator.warm_start({.from = "m1", .variables = "conv/.*"});   of these some
///   estimator.warm_start({.from = "cnn.safetensors",               a layer of PyTorch
///                         .layers = {{"dense", from_pytorch::linear("fc1")}}});
///
/// What is not warm-started has the values of its initializer, as without: the global step, what optimizers keep, the
/// position in the input; by default also moving statistics.
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "shoal/estimator/layer_weights.h"
#include "shoal/estimator/source_tensor.h"
#include "shoal/nn/initializers.h"

namespace shoal {

/// A variable whose rows (its first axis) stand for tokens, in another order, or others than before: a table of embeddings,
/// or kernel and bias of the layer that tells classes apart. Rows of tokens that the old vocabulary had are copied. All
/// others, those behind the vocabulary too, start as `backup_initializer` says.
struct VocabularyChange {
  std::vector<std::string> old_tokens{};  ///< Tokens of the source's rows 0, 1, ... (Vocabulary::names(), say).
  std::vector<std::string> new_tokens{};  ///< Tokens of the model's rows 0, 1, ...
  std::optional<nn::InitializerSpec> backup_initializer = std::nullopt;  ///< None: the variable's own initializer.
};

/// Which variables of the model are chosen. One pattern, "conv/.*", chooses among the trainable ones; a list, {"conv/.*"},
/// among all, moving statistics too, but nothing that an optimizer keeps; std::nullopt those in WarmStart::layers, ::names and
/// ::vocabularies alone.
class WarmStartChoice {
 public:
  WarmStartChoice(const char* pattern);                          // NOLINT
  WarmStartChoice(std::string pattern);                          // NOLINT
  WarmStartChoice(std::initializer_list<std::string> patterns);  // NOLINT
  WarmStartChoice(std::vector<std::string> patterns);            // NOLINT
  WarmStartChoice(std::nullopt_t) : named_only_(true) {}         // NOLINT

  const std::vector<std::string>& patterns() const { return patterns_; }
  bool trainable_only() const { return trainable_only_; }
  bool named_only() const { return named_only_; }

 private:
  std::vector<std::string> patterns_;
  bool trainable_only_ = false;
  bool named_only_ = false;
};

/// Patterns are regular expressions (ECMAScript's, which are nearly Python's) that match a whole name: "conv/.*" names all
/// in that scope, "conv" only a variable of just that name.
///
/// Mistakes come out of the call that begins with it, before the first step, and name what there is instead:
/// InvalidArgument for a pattern, a name or a layer that fits no variable, for tensors that the source lacks (all in one
/// sentence), for variables of different shapes or element types (but for rows by token), for a layer of which the source
/// has a tensor and the model no variable, and for tokens that a variable has not enough rows for; NotFound where there is
/// nothing at `from`; DataLoss, naming the file, if that is damaged; FailedPrecondition for a file of another format. A
/// model may have other variables in kEval and kPredict than in kTrain: there, names that the model lacks are passed over,
/// as long as something is warm-started.
struct WarmStart {
  /// The prefix of a checkpoint ("m1/model.ckpt-200"), a folder of checkpoints (its newest is taken), the folder of an
  /// exported model, or a file that TensorFile::open() takes: safetensors, an index of several of those, or NPZ. It has no
  /// default.
  std::string from = {};
  /// Default: all trainable variables. Each pattern has to match something.
  WarmStartChoice variables = ".*";
  /// By layer of the model, which is the scope of its variables ("dense"): the layer of another program that it starts from.
  /// Its variables are chosen beside `variables`, moving statistics too.
  std::map<std::string, LayerWeights> layers = {};
  /// From a variable of the model to its name in the source, where that is another one, or where the layout differs. Goes
  /// before `layers`.
  std::map<std::string, SourceTensor> names = {};
  /// By variable of the model: those that move row by row.
  std::map<std::string, VocabularyChange> vocabularies = {};
};

}  // namespace shoal
