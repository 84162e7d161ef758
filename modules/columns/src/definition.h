// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The inside of a column: the features that it needs, and how it converts them.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/columns/column.h"
#include "shoal/graph/graph.h"
#include "shoal/nn/value_map.h"

namespace shoal::columns {

/// The features of the graph in which a layer is built, and the tables that its columns share.
class Inputs {
 public:
  explicit Inputs(const nn::ValueMap& features) : features_(features) {}

  Graph& graph() const { return features_.begin()->second.graph(); }
  /// The feature with this key. If there is none, raises InvalidArgument with the column and the names of all features.
  Value feature(const std::string& key, const std::string& column) const;
  /// Returns the values of each example as a list: [batch, L]. InvalidArgument for more than two dimensions.
  Value list_of(Value feature, const std::string& column) const;
  /// The next two functions write to the graph's object Meaning (graph/meaning.h), which tells what the model's ids stand
  /// for. Checkpoints store the contents of Meaning, and a restore compares them. feature_means() records how a column
  /// uses the feature `key`; column_means() records what the column `name` is made from.
  void feature_means(const std::string& key, MeaningFact fact) {
    graph().meaning().add("features/" + key, std::move(fact));
  }
  void column_means(const std::string& name, MeaningFact fact) { graph().meaning().add("column/" + name, std::move(fact)); }
  /// The variable "<scope>/table" in the layer's scope. Later calls with the same scope return the same variable.
  Value table(const std::string& scope, const Shape& shape, const EmbeddingOptions& options);

 private:
  const nn::ValueMap& features_;
  std::map<std::string, Value> tables_;
};

/// The ids of each example: [batch, L] int64, -1 where there is none.
struct Ids {
  Value ids = {};
  Value weights = {};  ///< Float32 with the shape of `ids`. An invalid Value: all weights are 1.
};

/// The interface of columns that turn features into ids. A layer looks up weights for these ids.
class Categories {
 public:
  virtual ~Categories() = default;
  virtual int64_t count() const = 0;  ///< Ids lie in [0, count).
  virtual Ids ids(Inputs& inputs) const = 0;
  /// Whether crossed() accepts the column.
  virtual bool may_be_crossed() const { return true; }
};

/// The interface of columns that turn features into numbers, which a network of layers takes as its input.
class Numbers {
 public:
  virtual ~Numbers() = default;
  virtual int64_t width() const = 0;  ///< The number of values for each example.
  virtual int64_t parameters() const { return 0; }
  virtual Value values(Inputs& inputs) const = 0;  ///< The values of all examples: [batch, width] float32.
};

class Definition {
 public:
  explicit Definition(std::string name) : name_(std::move(name)) {}
  virtual ~Definition() = default;
  const std::string& name() const { return name_; }
  virtual std::string kind() const = 0;                  ///< A word such as "numeric", for summaries and errors.
  virtual std::vector<std::string> sources() const = 0;  ///< Features (keys) or columns (names) that this column uses.
  virtual const Categories* categories() const { return nullptr; }
  virtual const Numbers* numbers() const { return nullptr; }

 private:
  std::string name_;
};

/// Returns the column's categories. If it has none, raises InvalidArgument with the column's name and `who`, the caller.
const Categories& categories_of(const Column& column, const std::string& who);
/// Returns "sum", "mean" or "sqrt_n".
std::string combiner_name(ops::Combiner combiner);
/// Raises InvalidArgument unless value >= least.
void check_least(const std::string& column, const char* option, int64_t value, int64_t least);

}  // namespace shoal::columns
