// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/canned.h"

#include "model/canned_parts.h"
#include "shoal/graph/ops.h"

namespace shoal {
namespace {

using HeadPtr = std::shared_ptr<const nn::Head>;
using MakeParts = std::function<std::vector<canned::Part>(const Features& features, int64_t units, Mode mode)>;

HeadPtr head_of(ClassifierOptions options) {
  const bool named = !options.label_vocabulary.empty();
  if (options.n_classes == 0) options.n_classes = named ? int64_t(options.label_vocabulary.size()) : 2;
  if (options.n_classes < 2) {
    raise(invalid_argument("classifier: n_classes is " + std::to_string(options.n_classes) + ", expected 2 or more"));
  }
  if (options.n_classes == 2) {
    return nn::binary_head({.weight_column = std::move(options.weight_column),
                            .label_vocabulary = std::move(options.label_vocabulary),
                            .loss_reduction = options.loss_reduction});
  }
  return nn::multi_class_head({.n_classes = options.n_classes,
                               .weight_column = std::move(options.weight_column),
                               .label_vocabulary = std::move(options.label_vocabulary),
                               .loss_reduction = options.loss_reduction});
}

HeadPtr head_of(RegressorOptions options) {
  return nn::regression_head({.label_dimension = options.label_dimension,
                              .weight_column = std::move(options.weight_column),
                              .loss_reduction = options.loss_reduction});
}

/// Trains all parts in one step: each part's optimizer lowers the common loss by the variables of its own part.
nn::TrainOp train_parts(const std::vector<canned::Part>& parts, Value loss) {
  std::vector<nn::TrainOp> ops;
  for (const canned::Part& part : parts) {
    std::vector<std::string> names;
    for (const Variable& variable : loss.graph().variables()) {
      if (variable.trainable && variable.name.starts_with(part.scope)) names.push_back(variable.name);
    }
    ops.push_back(part.optimizer.minimize(loss, names));
  }
  return nn::group(std::move(ops));
}

EstimatorSpec canned_spec_of(const nn::Head& head, const std::vector<canned::Part>& parts, const Features& features,
                             const Labels& labels, Mode mode) {
  Value logits;
  for (const canned::Part& part : parts) logits = logits.valid() ? ops::add(logits, part.logits) : part.logits;
  nn::HeadInput input{.mode = mode, .features = features, .labels = labels, .logits = logits};
  if (mode == Mode::kTrain) input.train_op = [&parts](Value loss) { return train_parts(parts, loss); };
  EstimatorSpec spec(head.build(input));
  for (const canned::Part& part : parts)
    spec.summaries.insert(spec.summaries.end(), part.summaries.begin(), part.summaries.end());
  return spec;
}

Estimator estimator_of(MakeParts make_parts, HeadPtr head, RunConfig config) {
  if (!head) raise(invalid_argument("canned estimator: the head is null"));
  const auto model = [make_parts = std::move(make_parts), head = std::move(head)](
                         const Features& features, const Labels& labels, Mode mode, const Params&, const RunConfig&) {
    const std::vector<canned::Part> parts = make_parts(features, head->logits_dimension(), mode);
    return canned_spec_of(*head, parts, features, labels, mode);
  };
  return Estimator(model, std::move(config));
}

}  // namespace

Estimator linear_estimator(LinearOptions linear, HeadPtr head, RunConfig config) {
  canned::check_linear(linear);
  const auto parts = [linear = std::move(linear)](const Features& features, int64_t units, Mode mode) {
    return std::vector<canned::Part>{canned::linear_part(linear, features, units, mode, 0.2)};
  };
  return estimator_of(parts, std::move(head), std::move(config));
}

Estimator dnn_estimator(DnnOptions dnn, HeadPtr head, RunConfig config) {
  canned::check_deep(dnn);
  const auto parts = [dnn = std::move(dnn)](const Features& features, int64_t units, Mode mode) {
    return std::vector<canned::Part>{canned::deep_part(dnn, features, units, mode, 0.05)};
  };
  return estimator_of(parts, std::move(head), std::move(config));
}

Estimator wide_and_deep_estimator(WideAndDeepOptions parts, HeadPtr head, RunConfig config) {
  if (parts.linear.columns.empty() && parts.dnn.columns.empty()) {
    raise(invalid_argument("wide and deep: neither part has columns; give linear.columns, dnn.columns or both"));
  }
  if (!parts.dnn.columns.empty()) canned::check_deep(parts.dnn);
  const auto both = [parts = std::move(parts)](const Features& features, int64_t units, Mode mode) {
    std::vector<canned::Part> made;
    if (!parts.linear.columns.empty()) made.push_back(canned::linear_part(parts.linear, features, units, mode, 0.005));
    if (!parts.dnn.columns.empty()) made.push_back(canned::deep_part(parts.dnn, features, units, mode, 0.001));
    return made;
  };
  return estimator_of(both, std::move(head), std::move(config));
}

Estimator baseline_estimator(BaselineOptions baseline, HeadPtr head, RunConfig config) {
  const auto parts = [baseline = std::move(baseline)](const Features& features, int64_t units, Mode) {
    return std::vector<canned::Part>{canned::baseline_part(baseline, features, units)};
  };
  return estimator_of(parts, std::move(head), std::move(config));
}

Estimator linear_classifier(LinearOptions linear, ClassifierOptions classes, RunConfig config) {
  return linear_estimator(std::move(linear), head_of(std::move(classes)), std::move(config));
}
Estimator linear_regressor(LinearOptions linear, RegressorOptions labels, RunConfig config) {
  return linear_estimator(std::move(linear), head_of(std::move(labels)), std::move(config));
}
Estimator dnn_classifier(DnnOptions dnn, ClassifierOptions classes, RunConfig config) {
  return dnn_estimator(std::move(dnn), head_of(std::move(classes)), std::move(config));
}
Estimator dnn_regressor(DnnOptions dnn, RegressorOptions labels, RunConfig config) {
  return dnn_estimator(std::move(dnn), head_of(std::move(labels)), std::move(config));
}
Estimator wide_and_deep_classifier(WideAndDeepOptions parts, ClassifierOptions classes, RunConfig config) {
  return wide_and_deep_estimator(std::move(parts), head_of(std::move(classes)), std::move(config));
}
Estimator wide_and_deep_regressor(WideAndDeepOptions parts, RegressorOptions labels, RunConfig config) {
  return wide_and_deep_estimator(std::move(parts), head_of(std::move(labels)), std::move(config));
}
Estimator baseline_classifier(BaselineOptions baseline, ClassifierOptions classes, RunConfig config) {
  return baseline_estimator(std::move(baseline), head_of(std::move(classes)), std::move(config));
}
Estimator baseline_regressor(BaselineOptions baseline, RegressorOptions labels, RunConfig config) {
  return baseline_estimator(std::move(baseline), head_of(std::move(labels)), std::move(config));
}

}  // namespace shoal
