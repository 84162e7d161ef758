// SPDX-License-Identifier: Apache-2.0
/// Columns with ids: by identity, vocabulary or hash.
#include "definition.h"
#include "shoal/base/storage.h"
#include "shoal/data/text_files.h"
#include "shoal/graph/ops.h"
#include "shoal/graph/text_ids.h"

namespace shoal::columns {
namespace {

class ById final : public Definition, public Categories {
 public:
  ById(std::string key, IdentityOptions options) : Definition(std::move(key)), options_(options) {}
  std::string kind() const override { return "categorical by identity"; }
  std::vector<std::string> sources() const override { return {name()}; }
  const Categories* categories() const override { return this; }
  int64_t count() const override { return options_.count; }
  Ids ids(Inputs& inputs) const override {
    const Value feature = inputs.feature(name(), name());
    const bool whole =
        feature.dtype() == DType::kInt64 || feature.dtype() == DType::kInt32 || feature.dtype() == DType::kUInt8;
    if (!whole) {
      raise(invalid_argument("column \"" + name() + "\" takes integers, and the feature is " +
                             std::string(to_string(feature.dtype())) + "; text needs a vocabulary or a hash"));
    }
    MeaningFact fact{.kind = "identity", .values = {{"count", std::to_string(count())}}};
    if (options_.default_id) fact.values["default_id"] = std::to_string(*options_.default_id);
    inputs.feature_means(name(), std::move(fact));
    Value ids = inputs.list_of(feature, name());
    if (ids.dtype() == DType::kUInt8) ids = ops::cast(ids, DType::kInt64);
    // One id per example is never padding. If the length of the lists varies, it may be 1 in a batch of short lists.
    const Dim& length = ids.shape()[1];
    const bool may_be_padded = length.is_symbol() || length.size() != 1;
    if (options_.default_id) {
      const ops::DefaultIdsOptions options{
          .depth = count(), .otherwise = *options_.default_id, .keeps_padding = may_be_padded};
      return {ops::default_ids(ids, options), {}};
    }
    ids = ops::check_range(ids, {.low = may_be_padded ? -1.0 : 0.0,
                                 .high = double(count() - 1),
                                 .whole = true,
                                 .what = "feature \"" + name() + "\": id",
                                 .remedy = may_be_padded ? "" : "a default_id of the column replaces ids out of range"});
    if (ids.dtype() == DType::kInt32)
      ids = ops::cast(ids, DType::kInt64);  // After check_range(), whose errors name a row's file only for a graph's input.
    return {ids, {}};
  }

 private:
  IdentityOptions options_;
};

class ByText final : public Definition, public Categories {
 public:
  ByText(std::string key, std::string kind, TextEncoding encoding, bool missing_bucket)
      : Definition(std::move(key)), kind_(std::move(kind)), encoding_(std::move(encoding)), count_(encoding_.size()) {
    if (missing_bucket) encoding_.missing_id = count_++;
  }
  std::string kind() const override { return kind_; }
  std::vector<std::string> sources() const override { return {name()}; }
  const Categories* categories() const override { return this; }
  int64_t count() const override { return count_; }
  bool may_be_crossed() const override { return encoding_.vocabulary != nullptr; }
  Ids ids(Inputs& inputs) const override {
    return {inputs.list_of(text_ids(inputs.feature(name(), name()), encoding_), name()), {}};
  }

 private:
  std::string kind_;
  TextEncoding encoding_;
  int64_t count_;
};

class Weighted final : public Definition, public Categories {
 public:
  Weighted(Column of, std::string weight_key)
      : Definition(of.name() + "_weighted_by_" + weight_key), of_(std::move(of)), weight_key_(std::move(weight_key)) {}
  std::string kind() const override { return "weighted categorical"; }
  std::vector<std::string> sources() const override { return {of_.name(), weight_key_}; }
  const Categories* categories() const override { return this; }
  int64_t count() const override { return categories_of(of_, name()).count(); }
  bool may_be_crossed() const override { return false; }  // A cross would lose the weights.
  Ids ids(Inputs& inputs) const override {
    inputs.column_means(name(), {.kind = "weighted", .values = {{"of", of_.name()}, {"by", weight_key_}}});
    const Value ids = categories_of(of_, name()).ids(inputs).ids;
    const Value weights = inputs.list_of(inputs.feature(weight_key_, name()), name());
    if (weights.dtype() == DType::kFloat32 && weights.shape() == ids.shape()) return {ids, weights};
    raise(invalid_argument("column \"" + name() + "\": the weights are " + std::string(to_string(weights.dtype())) + " " +
                           to_string(weights.shape()) + ", expected float32 " + to_string(ids.shape()) +
                           ", as many as there are ids"));
  }

 private:
  Column of_;
  std::string weight_key_;
};

Column by_text(std::string key, std::string kind, TextEncoding encoding, bool missing_bucket) {
  if (auto checked = encoding.check(); !checked) raise(std::move(checked).error().with_context("column \"" + key + "\""));
  return Column(std::make_shared<ByText>(std::move(key), std::move(kind), std::move(encoding), missing_bucket));
}

Column by_vocabulary(std::string key, Result<Vocabulary> vocabulary, VocabularyOptions options) {
  if (!vocabulary) raise(std::move(vocabulary).error().with_context("column \"" + key + "\": the vocabulary"));
  check_least(key, "oov_buckets", options.oov_buckets, 0);
  if (options.default_id < -1 || options.default_id >= vocabulary->size()) {
    raise(invalid_argument("column \"" + key + "\": default_id is " + std::to_string(options.default_id) +
                           ", expected -1 or an id of the vocabulary's " + std::to_string(vocabulary->size())));
  }
  if (options.oov_buckets > 0 && options.default_id != -1) {
    raise(invalid_argument("column \"" + key + "\": give oov_buckets or default_id, not both"));
  }
  return by_text(std::move(key), "categorical by vocabulary",
                 {.vocabulary = std::make_shared<const Vocabulary>(std::move(*vocabulary)),
                  .buckets = options.oov_buckets,
                  .unknown_id = options.default_id,
                  .missing = std::move(options.missing)},
                 options.missing_bucket);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    if (line.ends_with('\r')) line.remove_suffix(1);
    lines.emplace_back(line);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

Column categorical_by_identity(std::string key, IdentityOptions options) {
  check_least(key, "count", options.count, 1);
  if (options.default_id && (*options.default_id < -1 || *options.default_id >= options.count)) {
    raise(invalid_argument("column \"" + key + "\": default_id is " + std::to_string(*options.default_id) +
                           ", expected -1 or an id below " + std::to_string(options.count)));
  }
  return Column(std::make_shared<ById>(std::move(key), options));
}

Column categorical_by_vocabulary(std::string key, std::vector<std::string> vocabulary, VocabularyOptions options) {
  return by_vocabulary(std::move(key), Vocabulary::make(std::move(vocabulary)), std::move(options));
}

Column categorical_by_vocabulary_file(std::string key, const std::string& path, VocabularyOptions options) {
  auto text = data::read_text(*make_file_storage(), path);
  if (!text) raise(std::move(text).error().with_context("column \"" + key + "\": the vocabulary"));
  auto vocabulary = Vocabulary::make(lines_of(*text));
  if (!vocabulary) raise(data_loss("column \"" + key + "\": the vocabulary " + path + ": " + vocabulary.error().message()));
  return by_vocabulary(std::move(key), std::move(vocabulary), std::move(options));
}

Column categorical_by_hash(std::string key, HashOptions options) {
  check_least(key, "buckets", options.buckets, 1);
  return by_text(std::move(key), "categorical by hash",
                 {.vocabulary = {}, .buckets = options.buckets, .missing = std::move(options.missing)},
                 options.missing_bucket);
}

Column weighted(const Column& categorical, std::string weight_key) {
  categories_of(categorical, "weighted");
  return Column(std::make_shared<Weighted>(categorical, std::move(weight_key)));
}

}  // namespace shoal::columns
