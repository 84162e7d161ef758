// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Feature columns: they describe how fields of a table become values that a model computes with. layer.h turns a list of
/// columns into values of a graph.
///
///   const Column age = numeric("age");
///   const Column education = categorical_by_vocabulary("education", {"HS-grad", "Bachelors", "Masters"});
///   const std::vector<Column> wide{bucketized(age, {18, 25, 40, 65}), education,
///                                  crossed({"education", "occupation"}, {.buckets = 1000})};
///   const std::vector<Column> deep{age, indicator(education),
///                                  embedding(categorical_by_hash("occupation", {.buckets = 50}), {.dimension = 8})};
///
/// Features are [batch], [batch, 1] or [batch, L]. In the last case an example has a list of up to L values, padded with -1
/// (ids) or "" (text). All functions raise InvalidArgument for options out of range, and for a column of a kind that does
/// not fit.
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

/// One column. A value type, immutable, cheap to copy.
class Column {
 public:
  explicit Column(std::shared_ptr<const Definition> definition);
  /// The name, which tells what the column is made from and how: "age_bucketized". Layers order columns by it.
  const std::string& name() const;
  const Definition& definition() const { return *definition_; }

 private:
  std::shared_ptr<const Definition> definition_;
};

struct NumericOptions {
  Shape shape = {1};  ///< The shape of one example's numbers, which become one row.
  std::optional<double> default_value =
      {};  ///< Replaces NaN, a missing number. Nothing: NaN ends the step with InvalidArgument.
  std::function<Value(Value)> normalizer = {};  ///< Applied last; see statistics.h. Empty: none.
};
/// Numbers, used as they are: float32, or integers, which are converted. Name: the key.
Column numeric(std::string key, NumericOptions options = {});

struct BucketizedOptions {
  bool missing_bucket = false;  ///< True: NaN gets a bucket of its own, the last one. False: NaN is in no bucket.
};
/// The interval in which a number of a numeric column (after its normalizer) lies: below b1, [b1, b2), ..., at or above bn.
/// Boundaries ascend, are finite and are compared as float32. The numeric column may contain NaN here even without a
/// default value. Name: "<key>_bucketized". It has ids, and is one-hot in a deep part.
Column bucketized(const Column& numeric, std::vector<double> boundaries, BucketizedOptions options = {});

struct IdentityOptions {
  int64_t count = 0;                       ///< Ids lie in [0, count). There is no default.
  std::optional<int64_t> default_id = {};  ///< Replaces other ids. Nothing: they end the step with InvalidArgument.
};
/// Integers that are ids already. Name: the key.
Column categorical_by_identity(std::string key, IdentityOptions options);

struct VocabularyOptions {
  /// The number of additional ids, after those of the vocabulary, among which texts that it lacks are divided by their
  /// hash. They learn only if the training data contain such texts, so leave rare texts out of the vocabulary; otherwise
  /// their weights keep initial values.
  int64_t oov_buckets = 0;
  int64_t default_id = -1;                  ///< Without such buckets: the id of unknown texts. -1: they have none.
  std::vector<std::string> missing = {""};  ///< Texts that mean that the value is missing.
  /// True: a missing value gets an id of its own, the last one. False: it has no id.
  bool missing_bucket = false;
};
/// Text, or integers as their digits, by its position in a list. Name: the key.
Column categorical_by_vocabulary(std::string key, std::vector<std::string> vocabulary, VocabularyOptions options = {});
/// As above, with the lines of a file as the vocabulary, plain or compressed. The file is read now (data::read_text()).
/// Raises NotFound, DataLoss for a line that occurs twice, and FailedPrecondition for a file that is not lines of text.
Column categorical_by_vocabulary_file(std::string key, const std::string& path, VocabularyOptions options = {});

struct HashOptions {
  int64_t buckets = 0;  ///< The number of ids. There is no default.
  std::vector<std::string> missing = {""};
  bool missing_bucket = false;  ///< True: a missing text gets a further id, the last one. False: it has no id.
};
/// Text, or integers as their digits, by hash64() (random.h) modulo `buckets`, equal on every platform. Name: the key.
Column categorical_by_hash(std::string key, HashOptions options);

/// An operand of crossed(): a feature of text or integers, given by its key, or a column with ids that is neither hashed
/// nor crossed itself.
class CrossKey {
 public:
  CrossKey(const char* key);  // NOLINT: a key is a CrossKey
  CrossKey(std::string key);  // NOLINT
  CrossKey(Column column);    // NOLINT: a column is a CrossKey
  const std::optional<Column>& column() const { return column_; }
  const std::string& name() const;

 private:
  std::string key_;
  std::optional<Column> column_;
};
struct CrossedOptions {
  int64_t buckets = 0;                      ///< The number of ids. There is no default.
  std::vector<std::string> missing = {""};  ///< Texts that mean that the value is missing, so that there is no combination.
};
/// The combinations of two or more operands: ops::cross_ids() of the whole hashes of texts (hash64()) and the ids of
/// columns, in the order of their names. Name: these names, joined by "_X_".
Column crossed(std::vector<CrossKey> keys, CrossedOptions options);

/// The ids of a categorical column with weights from a float32 feature that has the shape of the ids.
/// Name: "<name>_weighted_by_<weight_key>".
Column weighted(const Column& categorical, std::string weight_key);

/// How often (or with what weights) each id of a categorical column occurs in an example. Name: "<name>_indicator".
Column indicator(const Column& categorical);

struct EmbeddingOptions {
  int64_t dimension = 0;  ///< The size of each row, >= 1. There is no default.
  ops::Combiner combiner = ops::Combiner::kMean;
  /// Nothing: a truncated normal with standard deviation 1 / sqrt(dimension).
  std::optional<nn::InitializerSpec> initializer = std::nullopt;
  bool trainable = true;
};
/// A learned row for each id of a categorical column; the rows of an example are combined (ops::embedding_bag()). Adds the
/// variable "<name>/table" [ids, dimension]. Name: "<name>_embedding".
Column embedding(const Column& categorical, EmbeddingOptions options);
/// One table for several categorical columns with the same number of ids. Returns a column for each, in their order, named
/// "<name>_shared_embedding". The scope of the table is their names, sorted and joined by "_", followed by
/// "_shared_embedding".
std::vector<Column> shared_embedding(const std::vector<Column>& categorical, EmbeddingOptions options);

/// A table for people: each column, what it is made of, its number of ids, its number of values per example, and its
/// parameters in a deep part.
std::string summary(const std::vector<Column>& columns);

}  // namespace shoal::columns
