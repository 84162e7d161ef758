// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The meaning of a model's ids and logits: which word has which id, into how many buckets texts are hashed, where
/// intervals begin, which class is which logit. Weights are useful with that meaning only. The shapes of weights do
/// not show it: if the words of a vocabulary change their order, the same weights are another model.
///
/// Columns, heads and text_ids() record the meaning while a graph is built, under the names of features, labels and heads.
/// So it does not depend on the order of building, and graphs of different modes agree on what they have in common.
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/hidden.h"
#include "shoal/base/result.h"

namespace shoal {

/// A list of words or numbers, represented by its length, a hash, and the items that an error may show. Lists of equal
/// items are equal.
struct MeaningList {
  uint64_t count = 0;
  uint64_t hash = 0;                 ///< The hash of all items in their order.
  std::vector<std::string> items{};  ///< All items, or only the first ones of a long list.

  static MeaningList of(std::span<const std::string> items);
  bool is_whole() const { return items.size() == count; }
  friend bool operator==(const MeaningList& a, const MeaningList& b) { return a.count == b.count && a.hash == b.hash; }
};

/// One fact about what the ids of a feature or of labels, or the logits of a head, stand for: the vocabulary behind the
/// ids, for example.
struct MeaningFact {
  std::string kind = {};                           ///< For example "vocabulary", "hash", "multi_class_head".
  std::map<std::string, std::string> values = {};  ///< Single values by name: {"buckets", "1000"}.
  std::map<std::string, MeaningList> lists = {};   ///< Lists by name: {"words", ...}.
  friend bool operator==(const MeaningFact& a, const MeaningFact& b);
};
/// Returns "vocabulary (4 words: ash, elm, fir, oak; missing_id 4)". Shows only the first items of a long list.
std::string to_string(const MeaningFact& fact);

/// What the ids and logits of a model stand for: facts, grouped by their subject, such as a feature. A value type.
class Meaning {
 public:
  Meaning();
  Meaning(const Meaning& other);
  Meaning(Meaning&&) noexcept;
  Meaning& operator=(Meaning other) noexcept;
  ~Meaning();

  /// `key` names the subject: an input as the graph names it ("features/age", "labels"), or "head", "head/<name>",
  /// "column/<name>", "layer/<name>", "prediction/<name>". A key may have several facts, for example if several columns use
  /// a feature; a fact that the key already has is not added again. Bytes in texts that are not UTF-8 are replaced.
  void add(const std::string& key, MeaningFact fact);
  bool empty() const;
  /// The facts under each key. Their order depends only on the facts, and not on when they were added.
  using Facts = std::map<std::string, std::vector<MeaningFact>>;
  const Facts& facts() const;
  /// True if any fact in this object has a list equal to `list`: the same items in the same order.
  bool has_list(const MeaningList& list) const;
  /// Returns a copy of this object that takes changed facts from `other`: for each key under which `other` has a fact that
  /// this object lacks, the copy has exactly the facts of `other`.
  Meaning updated_by(const Meaning& other) const;

  /// Returns one line of JSON:
  /// {"version":1,"facts":{key:[{"kind":...,"values":{...},"lists":{name:{"count","hash","items"}}}]}}. Equal meanings give
  /// equal texts.
  std::string encode() const;
  /// Reads what encode() writes. DataLoss describes the mistake in any other text. Never throws; safe on any bytes.
  static Result<Meaning> decode(std::string_view text);
  /// A 64-bit hash of encode().
  uint64_t hash() const;
  friend bool operator==(const Meaning& a, const Meaning& b);

 private:
  Hidden<Facts> facts_;  // Empty: there are no facts.
};

/// The subject of a key in words: "feature \"age\"", "the labels", "head \"a\"".
std::string meaning_subject(const std::string& key);

/// Which facts have to be equal when meaning_difference() compares what the ids and logits of two models stand for.
enum class MeaningScope : uint8_t {
  kWhole,  ///< For a model in training: all facts of both models have to be equal.
  /// For models of two modes, since each mode may record facts that the other lacks: compares only the keys that both
  /// models have. Under such a key, the facts of one model must include all facts of the other.
  kPart,
};

/// Describes the first difference in words, and names the others: "feature "wood": vocabulary (2 words: ash, oak) before,
/// vocabulary (2 words: oak, ash) now; number 0 of the words was "ash" and is "oak"; also changed: the head". Nothing if
/// the two meanings agree.
std::optional<std::string> meaning_difference(const Meaning& recorded, const Meaning& present, MeaningScope scope);

/// Compares the text `recorded`, which encode() made for the model at `where` ("checkpoint m/model.ckpt-20"), with the
/// Meaning of the present model. An empty text, as older versions wrote, agrees with every model. FailedPrecondition says
/// what differs and what to do; DataLoss if the text is malformed.
Result<void> compare_meaning(std::string_view recorded, const std::string& where, const Meaning& present,
                             MeaningScope scope);

}  // namespace shoal
