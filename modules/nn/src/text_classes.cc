// Class names on the host side of the graph's border.
#include "shoal/nn/text_classes.h"

namespace shoal::nn {

Result<Tensor> LabelMapping::map(const Tensor& labels) const {
  if (labels.dtype() != DType::kString) {
    if (vocabulary_ == nullptr) return labels;
    return invalid_argument("labels are " + std::string(to_string(labels.dtype())) +
                            ", but the head has a label vocabulary: give the names as text, or leave the vocabulary out");
  }
  if (vocabulary_ == nullptr) {
    return invalid_argument("labels are text, but the head has no label_vocabulary to turn them into "
                            "class ids; give it one");
  }
  Tensor ids(DType::kInt64, labels.shape());
  const std::vector<std::string>& names = labels.strings();
  const auto out = ids.mutable_as<int64_t>();
  for (size_t row = 0; row < names.size(); ++row) {
    out[row] = vocabulary_->find(names[row]);
    if (out[row] < 0) {
      return invalid_argument("label \"" + names[row] + "\" in row " + std::to_string(row) +
                              " is not among the " + std::to_string(vocabulary_->size()) + " names of the label vocabulary");
    }
  }
  return ids;
}

std::vector<std::string> TextPrediction::vocabulary() const {
  std::vector<std::string> names;
  for (int64_t id = 0; vocabulary_ && id < vocabulary_->size(); ++id) names.push_back(vocabulary_->name(id));
  return names;
}

Result<Tensor> TextPrediction::map(TensorView ids) const {
  const auto numbers = ids.as<int64_t>();
  std::vector<std::string> names(numbers.size());
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t id = numbers[i];
    if (vocabulary_ == nullptr) {
      names[i] = std::to_string(id);
    } else if (id >= 0 && id < vocabulary_->size()) {
      names[i] = vocabulary_->name(id);
    } else {
      return invalid_argument("prediction " + key_ + ": the label vocabulary has no class " + std::to_string(id));
    }
  }
  return Tensor::of_strings(ids.shape, std::move(names));
}

}  // namespace shoal::nn
