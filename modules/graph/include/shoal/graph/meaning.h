// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the ids and logits of a model stand for: which word has which id, how many buckets texts are hashed into, where
/// intervals begin, which class is which logit. Weights are of use with that meaning alone, and no shape shows it: with the
/// words of a vocabulary in another order, the same weights are another model.
///
/// Columns, heads and text_ids() record it while a graph is built, by the names of features, labels and heads; so it is the
/// same for every order of building, and what graphs of several modes have in common is equal.
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

/// A list of words or numbers, kept by its length, a hash, and what of it a refusal can show. Lists with equal words are
/// equal.
struct MeaningList {
  uint64_t count = 0;
  uint64_t hash = 0;                 ///< Of all items, in their order.
  std::vector<std::string> items{};  ///< All of them, or of a long list the first.

  static MeaningList of(std::span<const std::string> items);
  bool is_whole() const { return items.size() == count; }
  friend bool operator==(const MeaningList& a, const MeaningList& b) { return a.count == b.count && a.hash == b.hash; }
};

/// One thing that is true of a feature, of labels, of a head.
struct MeaningFact {
  std::string kind = {};                           ///< "vocabulary", "hash", "multi_class_head".
  std::map<std::string, std::string> values = {};  ///< By name: {"buckets", "1000"}.
  std::map<std::string, MeaningList> lists = {};   ///< By name: {"words", ...}.
  friend bool operator==(const MeaningFact& a, const MeaningFact& b);
};
/// "vocabulary (4 words: ash, elm, fir, oak; missing_id 4)". Of long lists the first items.
std::string to_string(const MeaningFact& fact);

/// Facts by what they are about. A value.
class Meaning {
 public:
  Meaning();
  Meaning(const Meaning& other);
  Meaning(Meaning&&) noexcept;
  Meaning& operator=(Meaning other) noexcept;
  ~Meaning();

  /// `key` is the name of an input as the graph has it ("features/age", "labels"), or "head", "head/<name>",
  /// "column/<name>", "layer/<name>", "prediction/<name>". One key may have several facts, as where a feature is in several
  /// columns; the same fact twice is one. What is no UTF-8 in texts is replaced.
  void add(const std::string& key, MeaningFact fact);
  bool empty() const;
  /// Facts of one key are in an order that does not hang on when they were added.
  using Facts = std::map<std::string, std::vector<MeaningFact>>;
  const Facts& facts() const;
  /// Whether some fact has a list of these items.
  bool has_list(const MeaningList& list) const;
  /// This meaning, with those of its keys that `other` has with other facts as `other` has them, and those that only
  /// `other` has.
  Meaning updated_by(const Meaning& other) const;

  /// One line of JSON: {"version":1,"facts":{key:[{"kind":...,"values":{...},"lists":{name:{"count","hash","items"}}}]}}.
  /// Equal meanings give equal texts.
  std::string encode() const;
  /// DataLoss says what is wrong with a text that encode() did not write; never throws, safe on any bytes.
  static Result<Meaning> decode(std::string_view text);
  /// The 64-bit hash of encode().
  uint64_t hash() const;
  friend bool operator==(const Meaning& a, const Meaning& b);

 private:
  Hidden<Facts> facts_;  // Empty: there are none.
};

/// "feature \"age\"", "the labels", "head \"a\"": what a key is about.
std::string meaning_subject(const std::string& key);

/// What is compared with a recorded meaning, which is that of a model in training.
enum class MeaningScope : uint8_t {
  kWhole,  ///< A model in training: all has to be equal.
  kPart,   ///< A model of another mode, which may lack what only training uses, and have more of its own: keys that both
           ///< have are compared, and of the facts of each, one side's have to be among those of the other.
};

/// The first thing that differs, in words, and what else does: "feature "wood": vocabulary (2 words: ash, oak) before,
/// vocabulary (2 words: oak, ash) now; number 0 of the words was "ash" and is "oak"; also changed: the head". Nothing if
/// they agree.
std::optional<std::string> meaning_difference(const Meaning& recorded, const Meaning& present, MeaningScope scope);

/// Compares the text that `where` ("checkpoint m/model.ckpt-20") has with the meaning of a model. An empty text, as older
/// versions left it, agrees with everything. FailedPrecondition says what differs and what to do; DataLoss if the text is
/// none.
Result<void> compare_meaning(std::string_view recorded, const std::string& where, const Meaning& present,
                             MeaningScope scope);

}  // namespace shoal
