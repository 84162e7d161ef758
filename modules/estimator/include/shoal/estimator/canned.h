// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ready-made estimators for tables: choose one, give it columns (shoal/columns/column.h), train it. Each exists as a
/// classifier (binary for two classes), as a regressor, and as an estimator that takes a head of the caller's.
///
///   shoal::Estimator estimator =
///       shoal::dnn_classifier({.columns = columns, .hidden_units = {64, 32}}, {.n_classes = 3}, config);
///
/// The input function has to give features by name. All functions raise InvalidArgument for options out of range. Errors of
/// columns and features appear when the model is built, that is, in train(), evaluate() and so on.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "shoal/columns/column.h"
#include "shoal/estimator/estimator.h"
#include "shoal/estimator/optimizer_choice.h"
#include "shoal/nn/activation.h"
#include "shoal/nn/head.h"

namespace shoal {

/// A linear model: the sum of one weight for each number or id of the columns, plus a bias. All weights start at 0
/// (columns::linear_layer()). Variables: "linear/<column>/weights", "linear/bias". Summaries: `bias`,
/// `fraction_of_zero_weights`.
struct LinearOptions {
  std::vector<columns::Column> columns{};
  ops::Combiner combiner = ops::Combiner::kSum;  ///< How the weights of several ids of one column are combined.
  /// Default: Ftrl with the learning rate min(0.2, 1 / sqrt(number of columns)). In a wide and deep model 0.005 replaces
  /// 0.2.
  OptimizerChoice optimizer = {};
};

/// A deep neural network. Its input is columns::input_layer(). Each hidden layer consists of a dense layer, the activation,
/// dropout and batch normalization. A last dense layer computes the logits. Kernels start Glorot uniform, biases 0.
/// Variables: "dnn/input_layer/...", "dnn/hidden_<i>/...", "dnn/logits/...". Summaries of each layer:
/// "dnn/hidden_<i>/fraction_of_zero_values", "dnn/hidden_<i>/activation" (histogram).
struct DnnOptions {
  std::vector<columns::Column> columns{};
  std::vector<int64_t> hidden_units{};  ///< Units of each hidden layer, at least one layer.
  nn::Activation activation = nn::Activation::kRelu;
  double dropout = 0;       ///< The fraction of activations that training sets to 0, in [0, 1).
  bool batch_norm = false;  ///< True: batch normalization after the activation; its moving averages decay with 0.999.
  /// Default: Adagrad, learning rate 0.05; in a wide and deep model 0.001.
  OptimizerChoice optimizer = {};
};

/// Adds the logits of a linear and a deep part. Each part has its own optimizer, and both train in one step. One of the two
/// parts may have no columns. Source: Cheng et al., "Wide & deep learning for recommender systems" (2016).
struct WideAndDeepOptions {
  LinearOptions linear = {};
  DnnOptions dnn = {};
};

/// A model that ignores the features: one bias for each logit, which learns the frequencies of the classes or the mean of
/// the labels. It is the baseline that a useful model has to beat. Variable "baseline/bias".
struct BaselineOptions {
  OptimizerChoice optimizer = {};  ///< Default: Ftrl, learning rate 0.3.
};

struct ClassifierOptions {
  /// The number of classes. 2: nn::binary_head(); more: nn::multi_class_head(). 0: the size of label_vocabulary, else 2.
  int64_t n_classes = 0;
  std::string weight_column = {};               ///< The name of the feature with example weights. "": all weights are 1.
  std::vector<std::string> label_vocabulary{};  ///< The names of the classes: labels are text. Empty: labels are ids.
  nn::LossReduction loss_reduction = nn::LossReduction::kSumOverBatchSize;
};
/// Options of the regressors (linear_regressor() and so on), whose head is nn::regression_head().
struct RegressorOptions {
  int64_t label_dimension = 1;     ///< How many numbers are predicted for each example, 1 or more.
  std::string weight_column = {};  ///< The name of the feature with example weights. "": all weights are 1.
  nn::LossReduction loss_reduction = nn::LossReduction::kSumOverBatchSize;
};

// Each function makes an Estimator of one kind of model. A classifier predicts one of several classes, a regressor numbers,
// and the last function of each kind takes a head of the caller's own (head.h). They raise InvalidArgument for options that
// contradict each other or that are outside their ranges, and name the option.

/// A linear model: each column adds its weights to the outputs.
Estimator linear_classifier(LinearOptions linear, ClassifierOptions classes, RunConfig config);
Estimator linear_regressor(LinearOptions linear, RegressorOptions labels, RunConfig config);
Estimator linear_estimator(LinearOptions linear, std::shared_ptr<const nn::Head> head, RunConfig config);

/// A network of dense layers over all columns.
Estimator dnn_classifier(DnnOptions dnn, ClassifierOptions classes, RunConfig config);
Estimator dnn_regressor(DnnOptions dnn, RegressorOptions labels, RunConfig config);
Estimator dnn_estimator(DnnOptions dnn, std::shared_ptr<const nn::Head> head, RunConfig config);

/// A linear model and a network of dense layers, whose outputs are added and which are trained together.
Estimator wide_and_deep_classifier(WideAndDeepOptions parts, ClassifierOptions classes, RunConfig config);
Estimator wide_and_deep_regressor(WideAndDeepOptions parts, RegressorOptions labels, RunConfig config);
Estimator wide_and_deep_estimator(WideAndDeepOptions parts, std::shared_ptr<const nn::Head> head, RunConfig config);

/// A model that ignores its features and learns the mean of the labels, to which others can be compared.
Estimator baseline_classifier(BaselineOptions baseline, ClassifierOptions classes, RunConfig config);
Estimator baseline_regressor(BaselineOptions baseline, RegressorOptions labels, RunConfig config);
Estimator baseline_estimator(BaselineOptions baseline, std::shared_ptr<const nn::Head> head, RunConfig config);

}  // namespace shoal
