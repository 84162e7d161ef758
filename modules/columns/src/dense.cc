// SPDX-License-Identifier: Apache-2.0
/// Columns that turn ids into numbers: indicator, embedding, shared embedding.
#include <algorithm>

#include "definition.h"
#include "shoal/graph/ops.h"

namespace shoal::columns {
namespace {

class Indicator final : public Definition, public Numbers {
 public:
  explicit Indicator(Column of) : Definition(of.name() + "_indicator"), of_(std::move(of)) {}
  std::string kind() const override { return "indicator"; }
  std::vector<std::string> sources() const override { return {of_.name()}; }
  const Numbers* numbers() const override { return this; }
  int64_t width() const override { return categories_of(of_, name()).count(); }
  Value values(Inputs& inputs) const override {
    const Ids ids = categories_of(of_, name()).ids(inputs);
    return ops::multi_hot(ids.ids, width(), ids.weights);
  }

 private:
  Column of_;
};

class Embedding final : public Definition, public Numbers {
 public:
  /// Whether the column has a table of its own or shares one with other columns. The parameters of a shared table are
  /// counted for only one of these columns, the one with kFirstOfShared.
  enum class Table : uint8_t { kOwn, kFirstOfShared, kShared };
  Embedding(std::string name, Column of, std::string scope, Table table, EmbeddingOptions options)
      : Definition(std::move(name)),
        of_(std::move(of)),
        scope_(std::move(scope)),
        table_(table),
        options_(std::move(options)) {}
  std::string kind() const override { return table_ == Table::kOwn ? "embedding" : "shared embedding"; }
  std::vector<std::string> sources() const override { return {of_.name()}; }
  const Numbers* numbers() const override { return this; }
  int64_t width() const override { return options_.dimension; }
  int64_t parameters() const override {
    return table_ == Table::kShared ? 0 : categories_of(of_, name()).count() * options_.dimension;
  }
  Value values(Inputs& inputs) const override {
    const Categories& categories = categories_of(of_, name());
    inputs.column_means(name(), {.kind = "embedding",
                                 .values = {{"of", std::to_string(categories.count()) + " ids"},
                                            {"combiner", combiner_name(options_.combiner)},
                                            {"table", scope_}}});
    const Ids ids = categories.ids(inputs);
    const Value table = inputs.table(scope_, Shape{categories.count(), options_.dimension}, options_);
    return ops::embedding_bag(table, ids.ids, {.combiner = options_.combiner, .weights = ids.weights}, name());
  }

 private:
  Column of_;
  std::string scope_;
  Table table_;
  EmbeddingOptions options_;
};

}  // namespace

Column indicator(const Column& categorical) {
  categories_of(categorical, "indicator");
  return Column(std::make_shared<Indicator>(categorical));
}

Column embedding(const Column& categorical, EmbeddingOptions options) {
  categories_of(categorical, "embedding");
  const std::string name = categorical.name() + "_embedding";
  check_least(name, "dimension", options.dimension, 1);
  return Column(std::make_shared<Embedding>(name, categorical, name, Embedding::Table::kOwn, std::move(options)));
}

std::vector<Column> shared_embedding(const std::vector<Column>& categorical, EmbeddingOptions options) {
  if (categorical.empty()) raise(invalid_argument("shared_embedding: no columns were given"));
  std::vector<std::string> names;
  const int64_t count = categories_of(categorical[0], "shared_embedding").count();
  for (const Column& column : categorical) {
    const int64_t ids = categories_of(column, "shared_embedding").count();
    names.push_back(column.name());
    if (ids == count) continue;
    raise(invalid_argument("shared_embedding: column \"" + column.name() + "\" has " + std::to_string(ids) + " ids, \"" +
                           categorical[0].name() + "\" " + std::to_string(count) + "; one table needs equally many"));
  }
  std::ranges::sort(names);
  std::string scope;
  for (const std::string& name : names) scope += name + "_";
  scope += "shared_embedding";
  check_least(scope, "dimension", options.dimension, 1);
  std::vector<Column> columns;
  for (const Column& column : categorical) {
    const auto table = columns.empty() ? Embedding::Table::kFirstOfShared : Embedding::Table::kShared;
    columns.emplace_back(std::make_shared<Embedding>(column.name() + "_shared_embedding", column, scope, table, options));
  }
  return columns;
}

}  // namespace shoal::columns
