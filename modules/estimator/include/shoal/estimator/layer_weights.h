// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns layers of PyTorch and Keras into layers of Shoal: says which of their tensors become which variables, and how the
/// layouts differ.
///
///   estimator.warm_start({.from = "cnn.safetensors",
///                         .layers = {{"conv2d", from_pytorch::conv("features.0")},
///                                    {"dense", from_pytorch::linear("classifier.1")}}});
///
/// Each function takes the name of the layer in the file. The names of the layer's tensors begin with it: for a layer
/// "features.0" they are "features.0.weight" and "features.0.bias". Either both layers have a bias or neither has one.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/estimator/source_tensor.h"

namespace shoal {

/// The source of each variable of one layer, by the variable's name within the scope of the layer: "kernel", "bias".
using LayerWeights = std::map<std::string, SourceTensor>;

/// Functions for layers of PyTorch. The names in the file are those of a state_dict, as save_file(model.state_dict(),
/// "m.safetensors") or numpy.savez writes them.
namespace from_pytorch {

/// PyTorch's nn.Linear becomes nn::dense.
LayerWeights linear(const std::string& name);
/// PyTorch's nn.Linear behind nn.Flatten of images [channels, height, width] becomes nn::dense behind nn::flatten. Shoal's
/// images have their channels last, so nn::flatten orders the elements in another way. `sizes` is {channels, height, width}
/// of one image, or {channels, length} of one sequence.
LayerWeights linear_after_flatten(const std::string& name, std::vector<int64_t> sizes);
/// PyTorch's nn.Conv1d, nn.Conv2d and nn.ConvTranspose2d, also with groups, become nn::conv1d, nn::conv2d,
/// nn::depthwise_conv2d and nn::conv2d_transpose.
LayerWeights conv(const std::string& name);
/// PyTorch's nn.BatchNorm1d and nn.BatchNorm2d become nn::batch_norm with .decay = 0.9 and .epsilon = 1e-5.
LayerWeights batch_norm(const std::string& name);
/// PyTorch's nn.LayerNorm and nn.GroupNorm become nn::layer_norm and nn::group_norm.
LayerWeights norm(const std::string& name);
/// PyTorch's nn.Embedding becomes nn::embedding.
LayerWeights embedding(const std::string& name);

struct RecurrentOptions {
  int64_t layer = 0;  ///< The index of this layer in nn.LSTM or nn.GRU, from 0.
};
/// A layer of PyTorch's nn.LSTM with batch_first becomes nn::lstm with .forget_bias = 0. Its two biases are added up.
LayerWeights lstm(const std::string& name, const RecurrentOptions& options = {});
/// A layer of PyTorch's nn.GRU with batch_first becomes nn::gru.
LayerWeights gru(const std::string& name, const RecurrentOptions& options = {});

/// PyTorch's nn.MultiheadAttention (batch_first) of a sequence to itself becomes nn::multi_head_attention of one input.
LayerWeights multi_head_attention(const std::string& name);
/// PyTorch's nn.MultiheadAttention from one sequence to another one, where both have equally many features, becomes
/// nn::multi_head_attention with a memory.
LayerWeights cross_attention(const std::string& name);
/// PyTorch's nn.TransformerEncoderLayer (batch_first, norm_first, activation="gelu") becomes nn::transformer_block.
LayerWeights transformer_encoder_layer(const std::string& name);

}  // namespace from_pytorch

/// Functions for layers of Keras. The names in the file are paths of weights, as numpy.savez("m.npz", **{w.path: w.numpy()
/// for w in model.weights}) writes them in Keras 3. In Keras 2 the path is w.name.removesuffix(":0").
namespace from_keras {

/// Keras' Dense becomes nn::dense, also behind Flatten, since channels come last in Keras and in Shoal.
LayerWeights dense(const std::string& name);
LayerWeights conv1d(const std::string& name);
/// Keras' Conv2D and Conv2DTranspose become nn::conv2d and nn::conv2d_transpose.
LayerWeights conv2d(const std::string& name);
LayerWeights depthwise_conv2d(const std::string& name);
/// Keras' BatchNormalization becomes nn::batch_norm, whose defaults are the same.
LayerWeights batch_normalization(const std::string& name);
/// Keras' LayerNormalization and GroupNormalization become nn::layer_norm and nn::group_norm with .epsilon = 1e-3.
LayerWeights normalization(const std::string& name);
LayerWeights embedding(const std::string& name);
/// Keras' LSTM becomes nn::lstm with .forget_bias = 0: Keras adds 1 to the bias. `name` names the cell: "lstm/lstm_cell".
LayerWeights lstm(const std::string& name);
/// Keras' GRU with reset_after, the default, becomes nn::gru. `name` names the cell: "gru/gru_cell".
LayerWeights gru(const std::string& name);
/// Keras' MultiHeadAttention of a sequence to itself becomes nn::multi_head_attention of one input.
LayerWeights multi_head_attention(const std::string& name);
/// Keras' MultiHeadAttention of a sequence to another one becomes nn::multi_head_attention with a memory.
LayerWeights cross_attention(const std::string& name);

}  // namespace from_keras
}  // namespace shoal
