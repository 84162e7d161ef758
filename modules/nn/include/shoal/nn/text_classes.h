// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The host side of class names: ids become text after they are fetched. How text becomes ids is in text_ids.h.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/vocabulary.h"

namespace shoal::nn {

/// A prediction that is text, made on the host from a prediction of class ids. A value.
class TextPrediction {
 public:
  /// `key` names the result, `source` the prediction with the ids. Without vocabulary, ids are written in digits.
  TextPrediction(std::string key, std::string source, std::shared_ptr<const Vocabulary> vocabulary)
      : key_(std::move(key)), source_(std::move(source)), vocabulary_(std::move(vocabulary)) {}
  /// Names by position: element i of the last axis of `source`, whatever it holds, gives the name of id i.
  static TextPrediction of_positions(std::string key, std::string source, std::shared_ptr<const Vocabulary> vocabulary);
  /// The same of a prediction that is called `prefix` and its source.
  TextPrediction below(const std::string& prefix) const;
  const std::string& key() const { return key_; }
  const std::string& source() const { return source_; }
  bool by_position() const { return by_position_; }
  /// The names of the ids; empty: ids are written in digits.
  std::vector<std::string> vocabulary() const;
  /// A kString tensor of the shape of `source`, which holds ids (int64) unless by_position(). InvalidArgument for an id
  /// that the vocabulary lacks.
  Result<Tensor> map(TensorView source) const;

 private:
  std::string key_;
  std::string source_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool by_position_ = false;
};

}  // namespace shoal::nn
