// SPDX-License-Identifier: Apache-2.0
#include "data/json_cells.h"

#include <cmath>

#include "shoal/base/number_text.h"

namespace shoal::cli {
namespace {

constexpr int kJsonDepthMax = 100;

}  // namespace

Result<void> JsonCells::parse(std::string_view line, std::vector<Cell>& cells) {
  cells_ = &cells;
  used_ = 0;
  places_.clear();
  path_.clear();
  path_ends_.clear();
  lists_ = 0;
  SHOAL_TRY_VOID(json::read_events(line, kJsonDepthMax, *this));
  cells.resize(used_);
  for (Cell& cell : cells) {
    if (cell.is_list) cell.shape = {int64_t(cell.texts.size())};
  }
  return {};
}

Result<Cell*> JsonCells::cell() {
  if (path_ends_.empty()) return data_loss("the line is no JSON object");
  const auto [at, is_new] = places_.try_emplace(path_, used_);
  if (is_new) {
    if (used_ == cells_->size()) cells_->emplace_back();
    (*cells_)[used_++].begin(path_);
  }
  Cell& cell = (*cells_)[at->second];
  cell.is_list = cell.is_list || lists_ > 0;
  return &cell;
}

Result<void> JsonCells::put(std::string_view text, double number, Cell::Kind kind, const char* type) {
  SHOAL_TRY(Cell* const at, cell());
  at->texts.emplace_back(text);
  at->numbers.push_back(number);
  if (at->type.empty()) at->type = type;
  if (at->kind == Cell::Kind::kMissing) at->kind = kind;
  if (kind == Cell::Kind::kTexts) {  // A text may come after numbers in the same list.
    at->kind = kind;
    at->type = type;
  } else if (at->type == "int64") {
    at->type = type;  // If one number of a list has a fraction, all become float32.
  }
  return {};
}

Result<void> JsonCells::null() {
  SHOAL_TRY(Cell* const at, cell());
  static_cast<void>(at);  // A null adds no value, so a cell without other values stays kMissing.
  return {};
}
Result<void> JsonCells::boolean(bool value) {
  return put(value ? "true" : "false", value ? 1 : 0, Cell::Kind::kNumbers, "bool");
}
Result<void> JsonCells::number(std::string_view text) {
  const bool whole = number_from<int64_t>(text).has_value();
  return put(text, number_from<double>(text).value_or(0), Cell::Kind::kNumbers, whole ? "int64" : "float32");
}
Result<void> JsonCells::string(std::string& text) { return put(text, std::nan(""), Cell::Kind::kTexts, "text"); }

Result<void> JsonCells::begin_list() {
  ++lists_;
  SHOAL_TRY(Cell* const at, cell());
  // An empty list is a value, so the cell is not missing.
  if (at->kind == Cell::Kind::kMissing) at->kind = Cell::Kind::kNumbers;
  return {};
}
Result<void> JsonCells::end_list() {
  --lists_;
  return {};
}
Result<void> JsonCells::begin_object() {
  path_ends_.push_back(path_.size());
  return {};
}
Result<void> JsonCells::key(std::string_view text) {
  path_.resize(path_ends_.back());
  if (!path_.empty()) path_ += '.';
  path_ += text;
  return {};
}
Result<void> JsonCells::end_object() {
  path_.resize(path_ends_.back());
  path_ends_.pop_back();
  return {};
}

}  // namespace shoal::cli
