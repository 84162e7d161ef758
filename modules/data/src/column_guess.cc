// SPDX-License-Identifier: Apache-2.0
#include "column_guess.h"

#include <cmath>

#include "csv_number.h"
#include "shoal/data/csv_columns.h"

namespace shoal::data {
namespace {

/// True for a number in digits that is infinite, such as "1e400"; false for "inf", which is meant to be infinite.
bool is_infinite_by_size(std::string_view text) {
  return std::isinf(field_number<float>(text).value_or(0)) && text.find_first_of("0123456789") != std::string_view::npos;
}

}  // namespace

ParsedCsvField parse_csv_field(std::string_view field, const std::string& missing_text) {
  const std::string_view text = number_text(field, missing_text);
  if (text.empty()) return {};
  switch (notation_of(text)) {
    case Notation::kWhole: return {CsvFieldKind::kWhole, field_number<double>(text).value_or(0)};
    case Notation::kFraction: return {CsvFieldKind::kFraction, field_number<double>(text).value_or(0)};
    case Notation::kNone: break;
  }
  return {CsvFieldKind::kText, 0};
}

void ColumnGuess::add(std::string_view field, const std::string& missing_text, const CsvReader& reader) {
  if (!number_) return;
  const std::string_view text = number_text(field, missing_text);
  if (text.empty()) {
    missing_ = true;
    return;
  }
  const Notation notation = notation_of(text);
  number_ = notation != Notation::kNone;
  whole_ = whole_ && notation == Notation::kWhole;
  if (!number_) return;
  if (!inexact_ && is_changed_by_float32(text)) inexact_ = Changed{std::string(text), reader.place()};
  if (!infinite_ && notation == Notation::kFraction && is_infinite_by_size(text)) {
    infinite_ = Changed{std::string(text), reader.place()};
  }
}

void ColumnGuess::settle(CsvColumn& column) const {
  if (is_whole()) {
    column.dtype = DType::kInt64;
  } else if (number_) {
    column.dtype = DType::kFloat32;
    column.missing = "nan";
  }
}

void ColumnGuess::tell(const std::string& name, Logger& log) const {
  if (!number_ || is_whole()) return;
  const auto warn = [&](const Changed& changed, const std::string& what) {
    log.warning("csv_columns: " + changed.place + ": column " + csv_field(name) + " has " + changed.text + what);
  };
  if (infinite_) {
    warn(*infinite_,
         ", which is beyond float32 and counts as infinity; if these are ids, name the column in `texts`; if such numbers "
         "are right there, name it in `numbers`, and this warning goes");
  } else if (inexact_) {
    warn(*inexact_,
         ", a whole number that float32 does not hold: the nearest one is read, and different numbers may become one; if "
         "these are ids, name the column in `texts`; if they are quantities, name it in `numbers`, and this warning goes");
  }
}

}  // namespace shoal::data
