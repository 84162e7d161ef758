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
/// (ids of categorical_by_identity()) or "" (text). Integers that a column reads as text have no padding, unless the column
/// names it as a missing value: `.missing = {"-1"}`. All functions raise InvalidArgument for options out of range, and for
/// an argument that is a column of the wrong kind, such as a column of text for bucketized().
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
  Shape shape = {1};  ///< The shape of the feature in one example; its numbers become one row of values.
  std::optional<double> default_value =
      {};  ///< Replaces NaN, a missing number. Unset: NaN ends the step with InvalidArgument.
  std::function<Value(Value)> normalizer = {};  ///< Applied after default_value; statistics.h makes some. Empty: none.
};
/// A column of numbers as they are: float32, or integers, which are converted. Its name is the key.
Column numeric(std::string key, NumericOptions options = {});

struct BucketizedOptions {
  bool missing_bucket = false;  ///< True: NaN gets a bucket of its own, the last one. False: NaN is in no bucket.
};
/// A column whose ids say in which interval a number of `numeric` (after its normalizer) lies: below b1, [b1, b2), ..., at
/// or above bn. The boundaries b1 < ... < bn are finite, and are compared as float32. `numeric` may contain NaN here even
/// without a default value. The new column's name is "<key>_bucketized". A network of layers gets each id as a one-hot
/// vector.
Column bucketized(const Column& numeric, std::vector<double> boundaries, BucketizedOptions options = {});

struct IdentityOptions {
  int64_t count = 0;  ///< Ids lie in [0, count). There is no default.
  /// Replaces ids out of range. -1: they count as no id. Unset: they end the step with InvalidArgument.
  std::optional<int64_t> default_id = {};
};
/// A column of integers that are ids already. Its name is the key. In lists of ids (features [batch, L], L not 1), -1 is
/// padding and no id. With one id per example ([batch] or [batch, 1]), -1 is out of range like any other negative number.
Column categorical_by_identity(std::string key, IdentityOptions options);

struct VocabularyOptions {
  /// The number of additional ids, after those of the vocabulary. A text that the vocabulary lacks gets one of them by its
  /// hash. These ids learn only if the training data contain such texts, so leave rare texts out of the vocabulary;
  /// otherwise the weights of these ids keep their initial values.
  int64_t oov_buckets = 0;
  int64_t default_id = -1;                  ///< Without oov_buckets: the id of unknown texts. -1: no id.
  std::vector<std::string> missing = {""};  ///< Texts that stand for a missing value.
  /// True: a missing value gets an id of its own, the last one. False: it has no id.
  bool missing_bucket = false;
};
/// A column of text, or of integers as their digits; the id is the position in the vocabulary. Its name is the key.
Column categorical_by_vocabulary(std::string key, std::vector<std::string> vocabulary, VocabularyOptions options = {});
/// Like categorical_by_vocabulary(), with the lines of a file (plain or compressed) as the vocabulary. This call reads the
/// file (data::read_text()). Raises NotFound, DataLoss for a line that occurs twice, and FailedPrecondition for a file that
/// is not lines of text.
Column categorical_by_vocabulary_file(std::string key, const std::string& path, VocabularyOptions options = {});

struct HashOptions {
  int64_t buckets = 0;  ///< The number of ids. There is no default.
  std::vector<std::string> missing = {""};
  bool missing_bucket = false;  ///< True: a missing text gets a further id, the last one. False: it has no id.
};
/// A column of text, or of integers as their digits; the id is hash64() (random.h) modulo `buckets`. Its name is the key.
Column categorical_by_hash(std::string key, HashOptions options);

/// An operand of crossed(): a feature of text or integers, given by its key, or a column with ids that is neither hashed
/// nor crossed itself.
class CrossKey {
 public:
  CrossKey(const char* key);  // NOLINT: an implicit conversion, so that crossed() takes keys
  CrossKey(std::string key);  // NOLINT
  CrossKey(Column column);    // NOLINT: an implicit conversion, so that crossed() takes columns
  const std::optional<Column>& column() const { return column_; }
  const std::string& name() const;

 private:
  std::string key_;
  std::optional<Column> column_;
};
struct CrossedOptions {
  int64_t buckets = 0;                      ///< The number of ids. There is no default.
  std::vector<std::string> missing = {""};  ///< Texts that mean a missing value. It is left out of all combinations.
};
/// A column with an id for each combination of the values of two or more operands. ops::cross_ids() makes this id from one
/// number for each operand, in the order of the operands' names: the hash64() of a text, or the id that a column gives. The
/// new column's name is the operands' names, joined by "_X_".
Column crossed(std::vector<CrossKey> keys, CrossedOptions options);

/// A column with the ids of a categorical column, each with a weight from a float32 feature of the same shape. Its name is
/// "<name>_weighted_by_<weight_key>".
Column weighted(const Column& categorical, std::string weight_key);

/// A column that says how often, or with what weight, each id occurs in an example. Its name is "<name>_indicator".
Column indicator(const Column& categorical);

struct EmbeddingOptions {
  int64_t dimension = 0;  ///< The size of each row, >= 1. There is no default.
  ops::Combiner combiner = ops::Combiner::kMean;
  /// The initializer of the table. Unset: a truncated normal distribution with standard deviation 1 / sqrt(dimension).
  std::optional<nn::InitializerSpec> initializer = std::nullopt;
  bool trainable = true;
};
/// A column with a learned row of numbers for each id of `categorical`. If an example has several ids, ops::embedding_bag()
/// combines their rows. The column's name is "<name of `categorical`>_embedding". A layer adds the rows as the variable
/// "<the column's name>/table" [ids, dimension].
Column embedding(const Column& categorical, EmbeddingOptions options);
/// Makes one table for several categorical columns with the same number of ids. Returns an embedding column for each, in
/// the order given, named "<name>_shared_embedding". The scope of the table is the names of the columns, sorted and joined
/// by "_", followed by "_shared_embedding".
std::vector<Column> shared_embedding(const std::vector<Column>& categorical, EmbeddingOptions options);

/// Returns a table for people to read: each column, its sources, its number of ids, its number of values per example, and
/// the number of its parameters in a deep part.
std::string summary(const std::vector<Column>& columns);

}  // namespace shoal::columns
