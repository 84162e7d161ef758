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
  /// Looks at `field`, the column's field in the record that `reader` returned last.
  void add(std::string_view field, const std::string& missing_text, const CsvReader& reader);
  /// Sets the type of `column`, which is text so far, and the value of its missing fields.
  void settle(CsvColumn& column) const;
  /// Warns if settle() made the column float32 and float32 changes its numbers.
  void tell(const std::string& name, Logger& log) const;

 private:
  /// A field whose number would change if it were stored as float32, and the place of the field in the file.
  struct Changed {
    std::string text;
    std::string place;
  };
  bool is_whole() const { return whole_ && !missing_; }

  bool whole_ = true;     ///< True while all present fields are whole numbers that int64 holds.
  bool number_ = true;    ///< True while all present fields are numbers.
  bool missing_ = false;  ///< True if a field is missing.
  std::optional<Changed> inexact_, infinite_;
};

}  // namespace shoal::data
