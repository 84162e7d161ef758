// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns one JSON object into cells: one cell for each path of keys to a value. The path's keys are joined by dots.
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/cell.h"
#include "shoal/base/result.h"
#include "shoal/json/events.h"

namespace shoal::cli {

/// Parses JSON objects. A value in a list, at any depth, belongs to the path of the list.
class JsonCells final : json::Events {
 public:
  /// Parses one line. DataLoss, with the position of the byte in the line, if the line is no JSON object.
  Result<void> parse(std::string_view line, std::vector<Cell>& cells);

 private:
  Result<void> null() override;
  Result<void> boolean(bool value) override;
  Result<void> number(std::string_view text) override;
  Result<void> string(std::string& text) override;
  Result<void> begin_list() override;
  Result<void> end_list() override;
  Result<void> begin_object() override;
  Result<void> key(std::string_view text) override;
  Result<void> end_object() override;

  /// The cell at the current path.
  Result<Cell*> cell();
  Result<void> put(std::string_view text, double number, Cell::Kind kind, const char* type);

  std::vector<Cell>* cells_ = nullptr;
  size_t used_ = 0;                                 // How many elements of *cells_ the current line of the file fills.
  std::unordered_map<std::string, size_t> places_;  // Index of each cell, by name. Only looked up, so order is irrelevant.
  std::string path_;
  std::vector<size_t> path_ends_;  // For each open JSON object: how many of path_'s first bytes are the object's own path.
  int lists_ = 0;                  // How many lists are open.
};

}  // namespace shoal::cli
