// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Feature columns: how the fields of a table become what a model computes with. A column is a description; layer.h makes
/// values of a graph from a list of them.
///
///   const Column age = numeric("age");
///   const Column education = categorical_by_vocabulary("education", {"HS-grad", "Bachelors", "Masters"});
///   const std::vector<Column> wide{bucketized(age, {18, 25, 40, 65}), education,
///                                  crossed({"education", "occupation"}, {.buckets = 1000})};
///   const std::vector<Column> deep{age, indicator(education),
///                                  embedding(categorical_by_hash("occupation", {.buckets = 50}), {.dimension = 8})};
///
/// Features are [batch], [batch, 1] or [batch, L]: an example has one value or a list of L, where -1 among ids and "" among
/// texts say that there is no further one. All functions raise InvalidArgument for options out of range, and for a column
/// of a kind that does not fit.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/shape.h"
#include "shoal/base/std_function.h"
#include "shoal/graph/graph.h"
#include "shoal/graph/ops_lookup.h"
#include "shoal/nn/initializers.h"

namespace shoal::columns {

class Definition;

/// One column. A value, immutable, cheap to copy.
class Column {
 public:
  explicit Column(std::shared_ptr<const Definition> definition);
  /// What it is made from and how: "age_bucketized". Columns of one list are ordered by it.
  const std::string& name() const;
  const Definition& definition() const { return *definition_; }

 private:
  std::shared_ptr<const Definition> definition_;
};

struct NumericOptions {
  Shape shape = {1};  ///< The numbers of one example; they become one row.
  std::optional<double> default_value =
      {};  ///< What NaN, a missing number, counts as. None: NaN ends the step with InvalidArgument.
  std::function<Value(Value)> normalizer = {};  ///< Applied last; see statistics.h. Empty: none.
};
/// Numbers as they are: float32, or integers, which are converted. Name: the key.
Column numeric(std::string key, NumericOptions options = {});

struct BucketizedOptions {
  bool missing_bucket = false;  ///< Whether NaN has a bucket of its own, the last. False: it has none, and all are 0.
};
/// In which interval of a numeric column (after its normalizer) a number lies: below b1, [b1, b2), ..., at or above bn.
/// Boundaries ascend, are finite and are compared as float32. Of a numeric column without default NaN is allowed here.
/// Name: "<key>_bucketized". Ids or, in a deep part, one-hot.
Column bucketized(const Column& numeric, std::vector<double> boundaries, BucketizedOptions options = {});

struct IdentityOptions {
  int64_t count = 0;                       ///< Ids lie in [0, count). It has no default.
  std::optional<int64_t> default_id = {};  ///< What other ids count as; None: they end the step with InvalidArgument.
};
/// Integers that are ids already. Name: the key.
Column categorical_by_identity(std::string key, IdentityOptions options);

struct VocabularyOptions {
  /// How many ids, after those of the vocabulary, texts that it lacks share by their hash. They learn something only where the
  /// training data have such texts, so the vocabulary has to leave out rare ones; weights of the others stay as they began.
  int64_t oov_buckets = 0;
  int64_t default_id = -1;                  ///< Without such buckets: what they count as. -1: nothing.
  std::vector<std::string> missing = {""};  ///< Texts that say that nothing is there.
  bool missing_bucket = false;              ///< Whether that counts as an id of its own, the last one. False: as nothing.
};
/// Text, or integers by their digits, by its place in a list. Name: the key.
Column categorical_by_vocabulary(std::string key, std::vector<std::string> vocabulary, VocabularyOptions options = {});
/// The same with the lines of a file, plain or compressed, which is read now (data::read_text()). Raises NotFound, DataLoss for a line
/// that occurs twice, and FailedPrecondition for a file that is no text of lines.
Column categorical_by_vocabulary_file(std::string key, const std::string& path, VocabularyOptions options = {});

struct HashOptions {
  int64_t buckets = 0;  ///< How many ids there are. It has no default.
  std::vector<std::string> missing = {""};
  bool missing_bucket = false;  ///< Whether a missing text has one more id, the last. False: it counts as nothing.
};
/// Text, or integers by their digits: hash64() (random.h) modulo `buckets`, equal on every platform and run. Name: the key.
Column categorical_by_hash(std::string key, HashOptions options);

/// What is crossed: a feature of text or integers by its key, or a column with ids that is neither hashed nor crossed
/// itself.
class CrossKey {
 public:
  CrossKey(const char* key);  // NOLINT: a key is one
  CrossKey(std::string key);  // NOLINT
  CrossKey(Column column);    // NOLINT: a column is one
  const std::optional<Column>& column() const { return column_; }
  const std::string& name() const;

 private:
  std::string key_;
  std::optional<Column> column_;
};
struct CrossedOptions {
  int64_t buckets = 0;                      ///< How many ids there are. It has no default.
  std::vector<std::string> missing = {""};  ///< Texts that say that nothing is there: then there is no combination.
};
/// The combinations of two or more: ops::cross_ids() of the whole hashes of texts (hash64()) and the ids of columns, in the
/// order of their names. Name: these names, joined by "_X_".
Column crossed(std::vector<CrossKey> keys, CrossedOptions options);

/// The ids of a categorical column, each with a weight: a float32 feature of the shape of the ids.
/// Name: "<name>_weighted_by_<weight_key>".
Column weighted(const Column& categorical, std::string weight_key);

/// How often (or with what weights) each id of a categorical column occurs in an example. Name: "<name>_indicator".
Column indicator(const Column& categorical);

struct EmbeddingOptions {
  int64_t dimension = 0;  ///< The size of each row, >= 1. It has no default.
  ops::Combiner combiner = ops::Combiner::kMean;
  /// None: a truncated normal of standard deviation 1 / sqrt(dimension).
  std::optional<nn::InitializerSpec> initializer = std::nullopt;
  bool trainable = true;
};
/// A learned row for each id of a categorical column, combined per example (ops::embedding_bag()). Variable "<name>/table"
/// [ids, dimension]. Name: "<name>_embedding".
Column embedding(const Column& categorical, EmbeddingOptions options);
/// One table for several categorical columns with equally many ids. A result for each, in their order, named
/// "<name>_shared_embedding"; the table's scope is their names, sorted and joined by "_", and "_shared_embedding".
std::vector<Column> shared_embedding(const std::vector<Column>& categorical, EmbeddingOptions options);

/// A table for people: each column, what it is made of, how many ids and values per example it has, and its parameters in a
/// deep part.
std::string summary(const std::vector<Column>& columns);

}  // namespace shoal::columns
