// SPDX-License-Identifier: Apache-2.0
#include "shoal/columns/layer.h"

#include <algorithm>

#include "definition.h"
#include "shoal/graph/ops.h"

namespace shoal::columns {
namespace {

/// Sorts the columns by name, so that the order in which they are given does not matter.
std::vector<Column> ordered(const std::string& layer, const nn::ValueMap& features, std::vector<Column> columns) {
  if (columns.empty()) raise(invalid_argument(layer + ": no columns were given"));
  if (features.empty() || features.is_single()) {
    raise(invalid_argument(layer + ": columns take features by name, and the input function gives " +
                           (features.empty() ? "none" : "one without a name")));
  }
  std::ranges::sort(columns, {}, &Column::name);
  if (const auto twice = std::ranges::adjacent_find(columns, {}, &Column::name); twice != columns.end()) {
    raise(invalid_argument(layer + ": two columns have the name \"" + twice->name() + "\""));
  }
  return columns;
}

/// Records the names and sizes of a layer's columns in graph.meaning(), the facts about what the model's numbers stand for,
/// which checkpoints store. The layer's weights are in the order of these columns, so a checkpoint fits only the same
/// columns.
void note_columns(Graph& graph, const std::string& name, const std::vector<Column>& columns, MeaningFact fact) {
  std::vector<std::string> texts;
  for (const Column& column : columns) {
    const Categories* categories = column.definition().categories();
    const Numbers* numbers = column.definition().numbers();
    texts.push_back(column.name() + " " + std::to_string(numbers ? numbers->width() : categories->count()));
  }
  fact.lists["columns"] = MeaningList::of(texts);
  graph.meaning().add("layer/" + name, std::move(fact));
}

Value weights_of(Graph& graph, const Shape& shape) { return graph.variable("weights", shape); }

constexpr const char* kBias = "bias";

/// Returns the scope of a column's weights: its name, unless that is the name of the layer's own variable.
std::string scope_of(const Column& column) { return column.name() == kBias ? "bias_column" : column.name(); }

/// Returns what one column adds to the logits of a linear layer.
Value linear_part(Inputs& inputs, const Column& column, const LinearLayerOptions& options) {
  Graph& graph = inputs.graph();
  const auto scope = graph.scope(scope_of(column));
  if (const Categories* categories = column.definition().categories()) {
    const Ids ids = categories->ids(inputs);
    const Value weights = weights_of(graph, {categories->count(), options.units});
    return ops::embedding_bag(weights, ids.ids, {.combiner = options.combiner, .weights = ids.weights});
  }
  const Numbers& numbers = *column.definition().numbers();
  const Value values = numbers.values(inputs);
  return ops::dense(values, weights_of(graph, {options.units, numbers.width()}));
}

}  // namespace

Value input_layer(const nn::ValueMap& features, const std::vector<Column>& columns, const InputLayerOptions& options) {
  const std::vector<Column> in_order = ordered(options.name, features, columns);
  Inputs inputs(features);
  const auto scope = inputs.graph().scope(options.name);
  note_columns(inputs.graph(), options.name, in_order, {.kind = "input_layer"});
  std::vector<Value> parts;
  for (const Column& column : in_order) {
    const Numbers* numbers = column.definition().numbers();
    if (numbers == nullptr) {
      raise(invalid_argument(options.name + ": column \"" + column.name() + "\" is " + column.definition().kind() +
                             ", which has no numbers; wrap it: indicator(...) or embedding(..., {.dimension = ...})"));
    }
    parts.push_back(numbers->values(inputs));
  }
  return parts.size() == 1 ? parts[0] : ops::concat(parts, 1);
}

Value linear_layer(const nn::ValueMap& features, const std::vector<Column>& columns, const LinearLayerOptions& options) {
  check_least(options.name, "units", options.units, 1);
  const std::vector<Column> in_order = ordered(options.name, features, columns);
  Inputs inputs(features);
  const auto scope = inputs.graph().scope(options.name);
  note_columns(inputs.graph(), options.name, in_order,
               {.kind = "linear_layer", .values = {{"combiner", combiner_name(options.combiner)}}});
  Value sum;
  for (const Column& column : in_order) {
    const Value part = linear_part(inputs, column, options);
    sum = sum.valid() ? ops::add(sum, part) : part;
  }
  return ops::add(sum, inputs.graph().variable(kBias, Shape{options.units}));
}

}  // namespace shoal::columns
