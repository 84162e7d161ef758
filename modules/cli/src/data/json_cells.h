// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One JSON object to cells: a cell for each path of keys, with dots between them, that leads to values.
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/cell.h"
#include "shoal/base/result.h"
#include "shoal/json/events.h"

namespace shoal::cli {

/// Values in lists, at any depth, are values of the path that the lists have.
class JsonCells final : json::Events {
 public:
  /// DataLoss, with the byte of the line, for what is no JSON object.
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

  /// The cell at the present path.
  Result<Cell*> cell();
  Result<void> put(std::string_view text, double number, Cell::Kind kind, const char* type);

  std::vector<Cell>* cells_ = nullptr;
  size_t used_ = 0;                                 // How many of the cells are of this line.
  std::unordered_map<std::string, size_t> places_;  // The cells by their names; looked up only, never walked.
  std::string path_;
  std::vector<size_t> path_ends_;  // Where the path of each open object ends in path_.
  int lists_ = 0;                  // How many lists are open.
};

}  // namespace shoal::cli
