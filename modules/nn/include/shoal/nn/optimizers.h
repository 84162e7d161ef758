// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The built-in optimizers, each with its options, and a function that finds them by name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/nn/optimizer.h"

namespace shoal::nn {

struct SgdOptions {
  LearningRate learning_rate = 0.01;
  double momentum = 0;    ///< A number in [0, 1). 0: no momentum, and no slot.
  bool nesterov = false;  ///< If true, momentum has to be > 0.
};
/// w -= rate * g; with momentum a = momentum * a + g, w -= rate * a (Nesterov: w -= rate * (g + momentum * a)).
/// Source: Sutskever, Martens, Dahl, Hinton, "On the importance of initialization and momentum" (ICML 2013).
Optimizer sgd(SgdOptions options = {});

struct AdagradOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;  ///< A number >= 0.
  double epsilon = 1e-7;             ///< A number >= 0; > 0 if initial_accumulator is 0.
};
/// s += g^2; w -= rate * g / (sqrt(s) + epsilon). Source: Duchi, Hazan, Singer (JMLR 2011).
Optimizer adagrad(AdagradOptions options = {});

struct AdamOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;    ///< A number in [0, 1).
  double beta2 = 0.999;  ///< A number in [0, 1).
  /// A number > 0, added to sqrt(v) before correction ("epsilon hat" in the paper).
  double epsilon = 1e-7;
};
/// m = beta1 * m + (1 - beta1) * g; v = beta2 * v + (1 - beta2) * g^2;
/// w -= rate * sqrt(1 - beta2^t) / (1 - beta1^t) * m / (sqrt(v) + epsilon), t = updates of this variable so far, from 1.
/// Source: Kingma, Ba, "Adam: a method for stochastic optimization" (ICLR 2015), the form at the end of section 2.
Optimizer adam(AdamOptions options = {});

struct AdamWOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;          ///< A number in [0, 1).
  double beta2 = 0.999;        ///< A number in [0, 1).
  double epsilon = 1e-7;       ///< A number > 0, used as in Adam.
  double weight_decay = 0.01;  ///< A number >= 0.
};
/// w = (1 - rate * weight_decay) * w, then Adam's step. To exclude biases from decay, group() two train ops over different
/// variables. Source: Loshchilov, Hutter, "Decoupled weight decay regularization" (ICLR 2019).
Optimizer adamw(AdamWOptions options = {});

struct RmsPropOptions {
  LearningRate learning_rate = 0.001;
  double decay = 0.9;     ///< The decay of the mean of squares, in [0, 1).
  double momentum = 0;    ///< A number in [0, 1). 0: no momentum, and no slot.
  double epsilon = 1e-7;  ///< A number > 0.
  bool centered = false;  ///< True: divides by the standard deviation, which needs one more slot.
};
/// s = decay * s + (1 - decay) * g^2; w -= rate * g / (sqrt(s) + epsilon); with momentum a = momentum * a + g / (sqrt(s) +
/// epsilon), w -= rate * a; centered: m = decay * m + (1 - decay) * g, and s - m^2 in the place of s.
/// Source: Tieleman, Hinton, lecture 6.5 of "Neural networks for machine learning" (2012); centered: Graves, "Generating
/// sequences with recurrent neural networks" (2013).
Optimizer rmsprop(RmsPropOptions options = {});

struct FtrlOptions {
  LearningRate learning_rate = 0.001;
  double initial_accumulator = 0.1;  ///< A number >= 0; > 0 if l2 and beta are both 0.
  double l1 = 0;                     ///< A number >= 0. Above 0, unimportant weights become exactly 0.
  double l2 = 0;                     ///< A number >= 0: the penalty on the weights.
  double l2_shrinkage = 0;           ///< A number >= 0; adds 2 * l2_shrinkage * w to the gradient, but not to its squares.
  double beta = 0;                   ///< A number >= 0, added to sqrt(s), which makes the first steps smaller.
};
/// s' = s + g^2; z += g + 2 * l2_shrinkage * w - (sqrt(s') - sqrt(s)) / rate * w; s = s';
/// w = 0 where |z| <= l1, else (sign(z) * l1 - z) / ((sqrt(s) + beta) / rate + 2 * l2). A rate of 0 changes nothing.
/// Source: McMahan et al., "Ad click prediction: a view from the trenches" (KDD 2013), in TensorFlow's form (twice the l2).
Optimizer ftrl(FtrlOptions options = {});

struct LambOptions {
  LearningRate learning_rate = 0.001;
  double beta1 = 0.9;          ///< A number in [0, 1).
  double beta2 = 0.999;        ///< A number in [0, 1).
  double epsilon = 1e-6;       ///< A number > 0, added to sqrt(v) after correction.
  double weight_decay = 0.01;  ///< A number >= 0.
};
/// m, v as in Adam; r = m / (1 - beta1^t) / (sqrt(v / (1 - beta2^t)) + epsilon) + weight_decay * w;
/// w -= rate * |w| / |r| * r, with norms over the whole variable (the ratio counts as 1 if either norm is 0).
/// Source: You et al., "Large batch optimization for deep learning: training BERT in 76 minutes" (ICLR 2020), algorithm 2.
Optimizer lamb(LambOptions options = {});

/// The optimizer with this name (case-sensitive): "SGD", "Adagrad", "Adam", "AdamW", "RMSProp", "Ftrl" or "LAMB", with the
/// defaults above unless a learning rate is given. InvalidArgument, with a list of the names, for any other name.
Result<Optimizer> make_optimizer(std::string_view name, std::optional<LearningRate> learning_rate = std::nullopt);
/// The names that make_optimizer() knows.
std::vector<std::string> optimizer_names();

}  // namespace shoal::nn
