// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text in a model. Graphs compute with ids, not with text: the graph records at its inputs how text becomes ids, and
/// the CPU converts each batch before it feeds the graph. So training, evaluation, prediction and export use the same ids.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/vocabulary.h"

namespace shoal {

/// How text becomes int64 ids. A value type.
struct TextEncoding {
  /// The names of ids 0 to size - 1. Null: texts are hashed.
  std::shared_ptr<const Vocabulary> vocabulary = {};
  /// With a vocabulary: how many further ids follow those of the names. The hash of an unknown text selects one of them; 0
  /// means that there are none. Without a vocabulary: the id of a text is its hash modulo `buckets`; 0 means that the id is
  /// the whole hash as a signed number, for ops::cross_ids().
  int64_t buckets = 0;
  /// True: a text that the vocabulary lacks (if there are no buckets) ends the step with InvalidArgument, which names
  /// the row. False: the text becomes `unknown_id`.
  bool refuse_unknown = false;
  int64_t unknown_id = -1;
  /// Texts that stand for a missing value. Their id is `missing_id`.
  std::vector<std::string> missing = {""};
  /// -1, here and for unknown_id, is the id of no row: ops::multi_hot() and ops::embedding_bag() leave it out, a combination
  /// of ops::cross_ids() with it is -1, and ops::gather(), nn::embedding() and losses refuse it as out of range.
  int64_t missing_id = -1;

  /// The number of ids, without unknown_id and missing_id. 0 if each id is the text's whole 64-bit hash (see `buckets`).
  int64_t size() const { return (vocabulary ? vocabulary->size() : 0) + buckets; }
  /// The id of one text, hashed by hash64() (random.h). InvalidArgument for an unknown text if refuse_unknown is set.
  Result<int64_t> id_of(std::string_view text) const;
  /// The ids of all texts, int64 with the same shape. Integers are treated as texts of their decimal digits.
  /// InvalidArgument for other types of numbers, and for an unknown text if refuse_unknown is set.
  Result<Tensor> ids_of(const Tensor& texts) const;
  /// InvalidArgument if `buckets` is negative, the vocabulary is empty, or a missing text is not UTF-8.
  Result<void> check() const;

  std::string to_json() const;
  /// Reads what to_json() writes. DataLoss for any other text.
  static Result<TextEncoding> from_json(std::string_view text);
};

/// Returns the ids of an input of text (or of integers), as int64 of the same shape. A second call with the same input and
/// an equal encoding returns the same Value.
///
///   text  a result of Graph::input(): a feature or labels as the model gets them. Text, int64, int32 or uint8.
///
/// Raises InvalidArgument for any other value, and the errors of TextEncoding::check().
Value text_ids(Value text, const TextEncoding& encoding);

/// Describes an input of ids that stands for a text input: the text input's name, and how to encode the text as ids. Code
/// that feeds a graph needs this.
struct EncodedInput {
  std::string of;  ///< The name of the text input.
  TextEncoding encoding;
};
/// The encoding that text_ids() recorded in `node`; nothing for any other node. DataLoss if the node comes from a file and
/// is malformed.
Result<std::optional<EncodedInput>> encoded_input(const Node& node);

}  // namespace shoal
