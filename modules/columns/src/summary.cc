// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "definition.h"
#include "shoal/base/names_text.h"

namespace shoal::columns {
namespace {

using Row = std::vector<std::string>;

Row row_of(const Definition& column) {
  const Categories* categories = column.categories();
  const Numbers* numbers = column.numbers();
  return {column.name(),
          column.kind(),
          comma_separated(column.sources()),
          categories ? std::to_string(categories->count()) : "-",
          numbers ? std::to_string(numbers->width()) : "-",
          std::to_string(numbers ? numbers->parameters() : 0)};
}

}  // namespace

Column::Column(std::shared_ptr<const Definition> definition) : definition_(std::move(definition)) {}
const std::string& Column::name() const { return definition_->name(); }

std::string summary(const std::vector<Column>& columns) {
  std::vector<Row> rows{{"column", "kind", "made of", "ids", "values", "parameters"}};
  std::vector<Column> in_order = columns;
  std::ranges::sort(in_order, {}, &Column::name);
  int64_t values = 0, parameters = 0;
  for (const Column& column : in_order) {
    rows.push_back(row_of(column.definition()));
    const Numbers* numbers = column.definition().numbers();
    values += numbers ? numbers->width() : 0;
    parameters += numbers ? numbers->parameters() : 0;
  }
  rows.push_back({"total", "", "", "", std::to_string(values), std::to_string(parameters)});
  std::vector<size_t> widths(rows[0].size());
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - row[i].size(), ' ');
      line += (i == 0 ? "" : "  ") + (i < 3 ? row[i] + blanks : blanks + row[i]);
    }
    text += line + "\n";
  }
  return text;
}

}  // namespace shoal::columns
