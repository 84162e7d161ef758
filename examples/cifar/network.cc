// SPDX-License-Identifier: Apache-2.0
#include "network.h"

#include <algorithm>

#include "resnet20.h"
#include "shoal/graph/ops.h"
#include "shoal/nn/head.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/schedules.h"

namespace cifar {
namespace {

namespace nn = shoal::nn;
namespace ops = shoal::ops;
using shoal::Tensor;
using shoal::Value;

/// Shifts and scales each channel by the mean and the standard deviation that it has in CIFAR-10's training pictures.
Value normalized(Value pixels) {
  shoal::Graph& graph = pixels.graph();
  const Value means = graph.constant(Tensor::of<float>({3}, {kMeanColour[0], kMeanColour[1], kMeanColour[2]}), "means");
  const Value scales = graph.constant(Tensor::of<float>({3}, {1 / 63.0f, 1 / 62.1f, 1 / 66.7f}), "scales");
  return (ops::cast(pixels, shoal::DType::kFloat32) - means) * scales;
}

/// The rate falls to a tenth after half of the steps, and to a hundredth after three quarters.
nn::LearningRate in_three_stages(double rate, int64_t steps) {
  const auto last = uint64_t(std::max<int64_t>(steps, 3)), half = last / 2;
  return nn::piecewise_constant({half, std::max(half + 1, last * 3 / 4)}, {rate, rate / 10, rate / 100});
}

/// Returns the number of classes. Also records in the graph which class each label stands for (graph/meaning.h). The ops do
/// not show this. Without the record, a model of other classes could be mistaken for this one.
int64_t note_classes(const shoal::Features& pictures, const shoal::Params& params) {
  std::vector<std::string> classes;
  for (const int64_t chosen : params.get_ints("classes")) classes.push_back(std::to_string(chosen));
  pictures.single().graph().meaning().add("labels",
                                          {.kind = "ids", .lists = {{"classes", shoal::MeaningList::of(classes)}}});
  return int64_t(classes.size());
}

}  // namespace

shoal::EstimatorSpec classify(const shoal::Features& pictures, const shoal::Labels& labels, shoal::Mode mode,
                              const shoal::Params& params) {
  const int64_t classes = note_classes(pictures, params);
  const bool frozen = params.get_bool("frozen");
  // A frozen network is built for kEval in training, too: normalizations then use their moving averages unchanged.
  const Value logits = models::resnet20(normalized(pictures.single()), frozen ? shoal::Mode::kEval : mode,
                                        {.classes = classes,
                                         .kernel_regularizer = {.l2 = 5e-5},
                                         .recompute = params.get_bool("recompute"),
                                         .norm_decay = 0.9});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = logits};
  if (mode == shoal::Mode::kTrain) {
    const auto momentum = nn::sgd(
        {.learning_rate = in_three_stages(params.get_real("learning_rate"), params.get_int("steps")), .momentum = 0.9});
    input.train_op = [momentum, frozen](Value loss) {
      return frozen ? momentum.minimize(loss, {"logits/kernel", "logits/bias"}) : momentum.minimize(loss);
    };
  }
  return nn::multi_class_head({.n_classes = classes})->build(input);
}

}  // namespace cifar
