// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Text in a model. No program computes with text: where it becomes ids stands in the graph, at its input side, and is done
/// on the host before a batch is fed. So training, evaluation, prediction and export do the same.
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

/// How text becomes int64 ids. A value.
struct TextEncoding {
  /// The names of ids 0 to size - 1. Null: texts are hashed.
  std::shared_ptr<const Vocabulary> vocabulary = {};
  /// With a vocabulary: in how many ids, which follow those of its names, texts that it lacks fall by their hash; 0: none.
  /// Without: texts become hash modulo `buckets`; 0: the whole hash as a signed number, for crosses.
  int64_t buckets = 0;
  /// Whether a text that the vocabulary lacks (and no bucket takes) ends the step with InvalidArgument, naming its row.
  /// False: it becomes `unknown_id`.
  bool refuse_unknown = false;
  int64_t unknown_id = -1;
  /// Texts that say that nothing is there. They become `missing_id`. -1 is no id: lookups leave it out.
  std::vector<std::string> missing = {""};
  int64_t missing_id = -1;

  /// How many ids there are without unknown_id and missing_id; 0 for whole hashes.
  int64_t size() const { return (vocabulary ? vocabulary->size() : 0) + buckets; }
  /// The id of one text; the hash is hash64() (random.h). InvalidArgument as `refuse_unknown` says.
  Result<int64_t> id_of(std::string_view text) const;
  /// int64 of the same shape. Integers count as the texts of their digits, and are looked up like these. InvalidArgument
  /// for other numbers, and as `refuse_unknown` says.
  Result<Tensor> ids_of(const Tensor& texts) const;
  /// InvalidArgument if `buckets` is negative, a vocabulary is empty, or a missing text is no UTF-8.
  Result<void> check() const;

  std::string to_json() const;
  /// DataLoss if it is not what to_json() writes.
  static Result<TextEncoding> from_json(std::string_view text);
};

/// The ids of an input of text (or of integers), an int64 of its shape. Equal encodings of one input are one Value.
///
///   text  what Graph::input() returned: a feature or labels as they came into the model. Text or int64, int32, uint8.
///
/// Raises InvalidArgument for any other value, and as TextEncoding::check().
Value text_ids(Value text, const TextEncoding& encoding);

/// What an input is encoded from, for who feeds a graph.
struct EncodedInput {
  std::string of;  ///< The name of the input that holds the text.
  TextEncoding encoding;
};
/// What text_ids() put there; nothing for any other node. DataLoss if a file said something else.
Result<std::optional<EncodedInput>> encoded_input(const Node& node);

}  // namespace shoal
