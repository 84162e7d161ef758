#pragma once
/// The host side of class names: text labels become ids before they are fed, ids become text after they are fetched.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/nn/vocabulary.h"

namespace shoal::nn {

/// What becomes of a batch's labels before they are fed: text becomes class ids. A value.
class LabelMapping {
 public:
  /// A mapping without vocabulary (null) takes integers only, and passes them on unchanged.
  explicit LabelMapping(std::shared_ptr<const Vocabulary> vocabulary = nullptr) : vocabulary_(std::move(vocabulary)) {}
  bool takes_text() const { return vocabulary_ != nullptr; }
  /// Text: int64 ids of the same shape; integers: the tensor itself. InvalidArgument for text without a vocabulary,
  /// integers where there is one, or a text that the vocabulary lacks (naming row and text).
  Result<Tensor> map(const Tensor& labels) const;

 private:
  std::shared_ptr<const Vocabulary> vocabulary_;
};

/// A prediction that is text, made on the host from a prediction of class ids. A value.
class TextPrediction {
 public:
  /// `key` names the result, `source` the prediction with the ids. Without vocabulary, ids are written in digits.
  TextPrediction(std::string key, std::string source, std::shared_ptr<const Vocabulary> vocabulary)
      : key_(std::move(key)), source_(std::move(source)), vocabulary_(std::move(vocabulary)) {}
  const std::string& key() const { return key_; }
  const std::string& source() const { return source_; }
  /// The names of the ids; empty: ids are written in digits.
  std::vector<std::string> vocabulary() const;
  /// A kString tensor of the shape of `ids` (int64). InvalidArgument for an id that the vocabulary lacks.
  Result<Tensor> map(TensorView ids) const;

 private:
  std::string key_;
  std::string source_;
  std::shared_ptr<const Vocabulary> vocabulary_;
};

}  // namespace shoal::nn
