// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns one JSON object into cells: one cell for each path of keys to a value. The path's keys are joined by dots.
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "data/cell.h"
#include "shoal/base/result.h"
#include "shoal/json/events.h"

namespace shoal::cli {

/// Parses JSON objects. A list becomes one cell with the values in it; lists in lists are the axes of its shape. An irregular
/// list has elements that differ: null, values of several types, lists of several lengths, or objects. No tensor has such
/// values, so its cell holds its text alone, with the type "json".
class JsonCells final : json::Events {
 public:
  /// Parses one line. DataLoss, with the position of the byte in the line, if the line is no JSON object. DataLoss, too, if
  /// an object has a key twice, and if a key has a dot in it, so that two values have the same joined keys.
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

  /// A list that is being read.
  struct OpenList {
    int64_t count = 0;                ///< The number of its elements so far.
    std::vector<int64_t> shape = {};  ///< The shape of its first element: empty for a single value.
  };

  /// The cell at the current path.
  Result<Cell*> cell();
  Result<void> put(std::string_view text, double number, Cell::Kind kind, std::string_view type);
  /// Counts an element of the innermost list. If the elements of one list differ in shape, the outermost list is irregular.
  void count_element(const std::vector<int64_t>& shape);
  /// Adds to the text of the outermost list, with a comma before it if an element stands before it.
  void add_to_list_text(std::string_view text);

  std::vector<Cell>* cells_ = nullptr;
  size_t used_ = 0;                                 // How many elements of *cells_ the current line of the file fills.
  std::unordered_map<std::string, size_t> places_;  // Index of each cell, by name. Only looked up, so order is irrelevant.
  std::optional<std::string> joined_twice_;         // The first name that two values have; it ends parse() with an error.
  std::string path_;
  std::vector<size_t> path_ends_;  // For each open JSON object: how many of path_'s first bytes are the object's own path.
  std::vector<OpenList> lists_;    // The open lists, the outermost first.
  size_t list_cell_ = 0;           // The index of the outermost list's cell.
  std::string list_text_;          // The text of the outermost list so far.
  bool is_irregular_ = false;      // Whether the outermost list is irregular.
};

}  // namespace shoal::cli
