// SPDX-License-Identifier: Apache-2.0
// Turns class ids into names, on the host.
#include "shoal/nn/text_classes.h"

namespace shoal::nn {

TextPrediction TextPrediction::of_positions(std::string key, std::string source,
                                            std::shared_ptr<const Vocabulary> vocabulary) {
  TextPrediction text(std::move(key), std::move(source), std::move(vocabulary));
  text.by_position_ = true;
  return text;
}

TextPrediction TextPrediction::below(const std::string& prefix) const {
  TextPrediction text = *this;
  text.key_ = prefix + key_;
  text.source_ = prefix + source_;
  return text;
}

std::vector<std::string> TextPrediction::vocabulary() const {
  std::vector<std::string> names;
  for (int64_t id = 0; vocabulary_ && id < vocabulary_->size(); ++id) names.push_back(vocabulary_->name(id));
  return names;
}

Result<Tensor> TextPrediction::map(TensorView source) const {
  const int rank = source.shape.rank();
  const int64_t columns = rank == 0 ? 1 : source.shape[rank - 1];
  std::vector<std::string> names(size_t(source.elements()));
  for (size_t i = 0; i < names.size(); ++i) {
    const int64_t id = by_position_ ? int64_t(i) % columns : source.as<int64_t>()[i];
    if (vocabulary_ == nullptr) {
      names[i] = std::to_string(id);
    } else if (id >= 0 && id < vocabulary_->size()) {
      names[i] = vocabulary_->name(id);
    } else {
      return invalid_argument("prediction " + key_ + ": the label vocabulary has no class " + std::to_string(id));
    }
  }
  return Tensor::of_strings(source.shape, std::move(names));
}

}  // namespace shoal::nn
