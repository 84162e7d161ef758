// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds the type of one column of a CSV file by looking at all of its fields.
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/log.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {

class ColumnGuess {
 public:
  /// The next field, of the record that `reader` gave last.
  void add(std::string_view field, const std::string& missing_text, const CsvReader& reader);
  /// Gives `column`, which is text so far, its type, and what a missing field counts as.
  void settle(CsvColumn& column) const;
  /// Warns of what float32 makes of numbers of the column, if settle() makes it one of float32 and it is not what they say.
  void tell(const std::string& name, Logger& log) const;

 private:
  /// A field that float32 changes, and where it is.
  struct Changed {
    std::string text;
    std::string place;
  };
  bool is_whole() const { return whole_ && !missing_; }

  bool whole_ = true;     ///< Whether all fields that are there are whole numbers of int64.
  bool number_ = true;    ///< Whether all fields that are there are numbers.
  bool missing_ = false;  ///< Whether a field is missing.
  std::optional<Changed> inexact_, infinite_;
};

}  // namespace shoal::data
