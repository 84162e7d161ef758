// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns class ids into text, on the host after they are fetched. text_ids.h does the opposite.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/vocabulary.h"

namespace shoal::nn {

/// A prediction of text, made on the host from a prediction of class ids. A value type.
class TextPrediction {
 public:
  /// `key` is the name of the result, `source` the name of the prediction with the ids. Without a vocabulary, ids are
  /// written as digits.
  TextPrediction(std::string key, std::string source, std::shared_ptr<const Vocabulary> vocabulary)
      : key_(std::move(key)), source_(std::move(source)), vocabulary_(std::move(vocabulary)) {}
  /// A text prediction of positions: element i along the last axis of `source` becomes the name of id i, whatever the
  /// element's value.
  static TextPrediction of_positions(std::string key, std::string source, std::shared_ptr<const Vocabulary> vocabulary);
  /// Returns a copy whose key and source begin with `prefix`: multi_head() puts the name of a head before them.
  TextPrediction below(const std::string& prefix) const;
  const std::string& key() const { return key_; }
  const std::string& source() const { return source_; }
  bool by_position() const { return by_position_; }
  /// The names of the ids. Empty: ids are written as digits.
  std::vector<std::string> vocabulary() const;
  /// Returns a kString tensor with the shape of `source`. `source` contains ids (int64); if by_position(), its values are
  /// ignored. InvalidArgument for an id that the vocabulary lacks.
  Result<Tensor> map(TensorView source) const;

 private:
  std::string key_;
  std::string source_;
  std::shared_ptr<const Vocabulary> vocabulary_;
  bool by_position_ = false;
};

}  // namespace shoal::nn
