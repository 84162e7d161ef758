// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Layers of PyTorch and Keras as layers of Shoal: which of their tensors become which variables, and how the layouts
/// differ.
///
///   estimator.warm_start({.from = "cnn.safetensors",
///                         .layers = {{"conv2d", from_pytorch::conv("features.0")},
///                                    {"dense", from_pytorch::linear("classifier.1")}}});
///
/// Each function takes the name of the layer in the file, with which the names of its tensors begin: "features.0" for
/// "features.0.weight" and "features.0.bias". Either both layers have a bias or neither has one.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/estimator/source_tensor.h"

namespace shoal {

/// The sources of the variables of one layer, by their names within the scope of the layer: "kernel", "bias".
using LayerWeights = std::map<std::string, SourceTensor>;

/// The names in the file are those of a state_dict: save_file(model.state_dict(), "m.safetensors") writes them, and so
/// does numpy.savez.
namespace from_pytorch {

/// nn.Linear is nn::dense.
LayerWeights linear(const std::string& name);
/// nn.Linear behind nn.Flatten of images [channels, height, width]. Shoal's images have their channels last, so nn::flatten
/// gives the elements in another order. `sizes` is {channels, height, width} of one image, or {channels, length} of one
/// sequence.
LayerWeights linear_after_flatten(const std::string& name, std::vector<int64_t> sizes);
/// nn.Conv1d, nn.Conv2d and nn.ConvTranspose2d, with groups too, become nn::conv1d, nn::conv2d, nn::depthwise_conv2d and
/// nn::conv2d_transpose.
LayerWeights conv(const std::string& name);
/// nn.BatchNorm1d and nn.BatchNorm2d are nn::batch_norm with .decay = 0.9 and .epsilon = 1e-5.
LayerWeights batch_norm(const std::string& name);
/// nn.LayerNorm and nn.GroupNorm are nn::layer_norm and nn::group_norm.
LayerWeights norm(const std::string& name);
/// nn.Embedding is nn::embedding.
LayerWeights embedding(const std::string& name);

struct RecurrentOptions {
  int64_t layer = 0;  ///< The index of the layer among num_layers, from 0.
};
/// A layer of nn.LSTM with batch_first is nn::lstm with .forget_bias = 0. The two biases are added.
LayerWeights lstm(const std::string& name, const RecurrentOptions& options = {});
/// A layer of nn.GRU with batch_first is nn::gru.
LayerWeights gru(const std::string& name, const RecurrentOptions& options = {});

/// nn.MultiheadAttention with batch_first, of a sequence to itself, is nn::multi_head_attention of one input.
LayerWeights multi_head_attention(const std::string& name);
/// nn.MultiheadAttention to another sequence with equally many features is nn::multi_head_attention with a memory.
LayerWeights cross_attention(const std::string& name);
/// nn.TransformerEncoderLayer with batch_first, norm_first and activation="gelu" is nn::transformer_block.
LayerWeights transformer_encoder_layer(const std::string& name);

}  // namespace from_pytorch

/// The names in the file are paths of weights: numpy.savez("m.npz", **{weight.path: weight.numpy() for weight in
/// model.weights}) writes them in Keras 3. In Keras 2 the path is weight.name.removesuffix(":0").
namespace from_keras {

/// Dense is nn::dense. Keras and Shoal both have channels last, so a Dense behind Flatten needs no other function.
LayerWeights dense(const std::string& name);
LayerWeights conv1d(const std::string& name);
/// Conv2D and Conv2DTranspose are nn::conv2d and nn::conv2d_transpose.
LayerWeights conv2d(const std::string& name);
LayerWeights depthwise_conv2d(const std::string& name);
/// BatchNormalization is nn::batch_norm: the defaults are equal.
LayerWeights batch_normalization(const std::string& name);
/// LayerNormalization and GroupNormalization are nn::layer_norm and nn::group_norm with .epsilon = 1e-3.
LayerWeights normalization(const std::string& name);
LayerWeights embedding(const std::string& name);
/// LSTM is nn::lstm with .forget_bias = 0: Keras itself adds 1 to the bias. The name is that of the cell, "lstm/lstm_cell".
LayerWeights lstm(const std::string& name);
/// GRU with reset_after, the default of Keras, is nn::gru. The name is that of the cell, "gru/gru_cell".
LayerWeights gru(const std::string& name);
/// MultiHeadAttention of a sequence to itself is nn::multi_head_attention of one input.
LayerWeights multi_head_attention(const std::string& name);
/// MultiHeadAttention of a sequence to another one is nn::multi_head_attention with a memory.
LayerWeights cross_attention(const std::string& name);

}  // namespace from_keras
}  // namespace shoal
