// SPDX-License-Identifier: Apache-2.0
#include "data/field_summaries.h"

#include <algorithm>

namespace shoal::cli {

std::string FieldSummary::type(bool missing_makes_float) const {
  if (has_bytes) return "bytes";
  const auto has = [this](const char* type) { return std::ranges::find(types, type) != types.end(); };
  if (has_text && !has(kJsonType)) return "text";
  if (types.empty()) return "nothing";
  if (types.size() == 1) return types[0] == "int64" && missing_makes_float ? "float32" : types[0];
  if (types.size() == 2 && has("int64") && has("float32")) return "float32";
  std::string listed;
  for (const std::string& one : types) listed += (listed.empty() ? "" : " or ") + one;
  return listed;
}

Result<void> FieldSummaries::add(const std::vector<Cell>& cells) {
  ++records_;
  for (size_t i = 0; i < cells.size(); ++i) {
    const Cell& cell = cells[i];
    // Records of a table have the same fields in the same order, so this field is usually at place i. Only otherwise is
    // it searched for by name.
    if (i < fields_.size() && fields_[i].name == cell.name) {
      add_to(fields_[i], cell);
      continue;
    }
    const auto [at, is_new] = places_.try_emplace(cell.name, fields_.size());
    if (is_new) {
      if (fields_.size() >= bounds_.fields_max) {
        return invalid_argument("there are more than " + std::to_string(bounds_.fields_max) +
                                " fields, and each takes memory; choose some with --column");
      }
      const size_t part = fields_.size() < bounds_.full_fields_max ? 1 : 8;
      fields_.emplace_back(cell.name, bounds_.sketch_capacity / part, bounds_.distinct_max / part);
    }
    add_to(fields_[at->second], cell);
  }
  return {};
}

void FieldSummaries::add_to(FieldSummary& field, const Cell& cell) const {
  if (cell.kind == Cell::Kind::kMissing) return;
  const auto length = int64_t(cell.values());
  const bool is_first = field.records++ == 0;
  field.values += length;
  field.is_list = field.is_list || cell.is_list;
  if (cell.is_list) {
    field.length_least = field.lists++ == 0 ? length : std::min(field.length_least, length);
    field.length_most = std::max(field.length_most, length);
  }
  if (is_first) field.shape = cell.shape;
  field.all_shapes_equal = field.all_shapes_equal && field.shape == cell.shape;
  const bool is_known = !field.types.empty() && field.types.back() == cell.type;
  if (!is_known && !cell.type.empty() && std::ranges::find(field.types, cell.type) == field.types.end()) {
    field.types.push_back(cell.type);  // An empty list in JSON has no type to add.
  }
  field.has_text = field.has_text || cell.kind == Cell::Kind::kTexts;
  field.has_bytes = field.has_bytes || cell.kind == Cell::Kind::kBytes;
  for (const std::string& text : cell.texts) field.texts.add(text);
  if (!field.is_text()) {
    for (const double number : cell.numbers) field.numbers.add(number);
  }
}

}  // namespace shoal::cli
