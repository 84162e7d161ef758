// SPDX-License-Identifier: Apache-2.0
#include "data/json_cells.h"

#include <cmath>

#include "shoal/base/number_text.h"
#include "shoal/json/json.h"
#include "shoal/json/text.h"

namespace shoal::cli {
namespace {

constexpr int kJsonDepthMax = 100;
constexpr std::string_view kBoolType = "bool", kWholeType = "int64";

}  // namespace

Result<void> JsonCells::parse(std::string_view line, std::vector<Cell>& cells) {
  cells_ = &cells;
  used_ = 0;
  places_.clear();
  path_.clear();
  path_ends_.clear();
  lists_.clear();
  joined_twice_.reset();
  SHOAL_TRY_VOID(json::read_events(line, kJsonDepthMax, *this));
  // read_events() has refused an object that has a key twice, so that equal names come from different keys.
  if (joined_twice_) {
    return data_loss("two values have the name " + *joined_twice_ +
                     ": a key has a dot in it, and joined keys are the same; rename one of the keys");
  }
  cells.resize(used_);
  return {};
}

Result<Cell*> JsonCells::cell() {
  if (path_ends_.empty()) return data_loss("the line is no JSON object");
  if (!lists_.empty()) return &(*cells_)[list_cell_];
  const auto [at, is_new] = places_.try_emplace(path_, used_);
  if (!is_new) {
    if (!joined_twice_) joined_twice_ = path_;
    return &(*cells_)[at->second];
  }
  if (used_ == cells_->size()) cells_->emplace_back();
  (*cells_)[used_++].begin(path_);
  return &(*cells_)[at->second];
}

void JsonCells::count_element(const std::vector<int64_t>& shape) {
  if (lists_.empty()) return;
  OpenList& list = lists_.back();
  if (list.count++ == 0) list.shape = shape;
  is_irregular_ = is_irregular_ || list.shape != shape;
}

void JsonCells::add_to_list_text(std::string_view text) {
  const char last = list_text_.empty() ? '[' : list_text_.back();
  if (last != '[' && last != '{' && last != ':') list_text_ += ',';
  list_text_ += text;
}

Result<void> JsonCells::put(std::string_view text, double number, Cell::Kind kind, std::string_view type) {
  SHOAL_TRY(Cell* const at, cell());
  if (!lists_.empty()) {
    add_to_list_text(kind == Cell::Kind::kTexts ? json::text_of(json::Json(text)) : std::string(text));
    count_element({});
  }
  const bool is_flag = type == kBoolType;
  if (!at->type.empty() && (kind != at->kind || is_flag != (at->type == kBoolType))) is_irregular_ = true;
  at->texts.emplace_back(text);
  at->numbers.push_back(number);
  at->kind = kind;
  if (at->type.empty() || at->type == kWholeType) at->type = type;  // One number with a fraction makes a list float32.
  return {};
}

Result<void> JsonCells::null() {
  SHOAL_TRY_VOID(cell());  // A null adds no value, so a cell without other values stays kMissing.
  if (lists_.empty()) return {};
  add_to_list_text("null");
  count_element({});
  is_irregular_ = true;
  return {};
}
Result<void> JsonCells::boolean(bool value) {
  return put(value ? "true" : "false", value ? 1 : 0, Cell::Kind::kNumbers, kBoolType);
}
Result<void> JsonCells::number(std::string_view text) {
  const bool whole = number_from<int64_t>(text).has_value();
  return put(text, number_from<double>(text).value_or(0), Cell::Kind::kNumbers, whole ? kWholeType : "float32");
}
Result<void> JsonCells::string(std::string& text) { return put(text, std::nan(""), Cell::Kind::kTexts, "text"); }

Result<void> JsonCells::begin_list() {
  SHOAL_TRY(Cell* const at, cell());
  if (lists_.empty()) {
    list_cell_ = size_t(at - cells_->data());
    list_text_.clear();
    is_irregular_ = false;
    at->kind = Cell::Kind::kNumbers;  // An empty list is a value, so the cell is not missing.
    at->is_list = true;
  }
  add_to_list_text("[");
  lists_.emplace_back();
  return {};
}

Result<void> JsonCells::end_list() {
  list_text_ += ']';
  std::vector<int64_t> shape{lists_.back().count};
  shape.insert(shape.end(), lists_.back().shape.begin(), lists_.back().shape.end());
  lists_.pop_back();
  if (!lists_.empty()) {
    count_element(shape);
    return {};
  }
  Cell& cell = (*cells_)[list_cell_];
  cell.shape = std::move(shape);
  if (!is_irregular_) return {};
  const std::string name = cell.name;
  cell.begin(name);
  cell.kind = Cell::Kind::kTexts;
  cell.type = kJsonType;
  cell.texts.push_back(list_text_);
  return {};
}

Result<void> JsonCells::begin_object() {
  if (!lists_.empty()) {
    add_to_list_text("{");
    is_irregular_ = true;
  }
  path_ends_.push_back(path_.size());
  return {};
}

Result<void> JsonCells::key(std::string_view text) {
  if (!lists_.empty()) {
    add_to_list_text(json::text_of(json::Json(text)) + ":");
    return {};
  }
  path_.resize(path_ends_.back());
  if (!path_.empty()) path_ += '.';
  path_ += text;
  return {};
}

Result<void> JsonCells::end_object() {
  if (!lists_.empty()) list_text_ += '}';
  path_.resize(path_ends_.back());
  path_ends_.pop_back();
  return {};
}

}  // namespace shoal::cli
