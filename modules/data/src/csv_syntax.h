// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Finds where the fields of a CSV record begin and end (RFC 4180, with a separator of choice). The reader that looks
/// for a record's end and the splitter of that record use the same states, so they cannot disagree about a quote.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/data/text_files.h"

namespace shoal::data {

struct CsvSyntax {
  char separator = ',';
  bool quoting = true;       ///< False: a quote is like any other character.
  bool trim_blanks = false;  ///< True: blanks and tabs around a field, or around its quotes, do not count.
};

CsvSyntax syntax_of(const CsvOptions& options);

/// Returns `field` without the blanks and tabs at its ends.
std::string_view without_blanks_around(std::string_view field);

/// Returns text of a file as errors quote it: its first 40 bytes, in which line ends and other control characters are
/// written as escapes.
std::string shown_text(std::string_view text);

/// The state of the syntax before the next byte of a record.
enum class CsvState : uint8_t {
  kFieldBegin,  ///< No byte of the field was seen yet, except blanks that do not count.
  kUnquoted,    ///< Within a field without quotes.
  kQuoted,      ///< Between the quotes of a field.
  kQuote,       ///< Behind a quote in a quoted field: the closing one, or the first of two that stand for one.
  kQuotedEnd,   ///< Behind the closing quote and at least one blank, which trim_blanks permits.
  kMistake,     ///< Behind a syntax error, which the splitter reports. Quotes are ignored up to the line end.
};

/// Returns the state behind the byte `c`. Not for an LF outside of quotes, which ends a record. A CR outside of quotes
/// gives kMistake. (A line end CR LF is allowed nevertheless, because there the record ends and the state is not used.)
inline CsvState csv_state_after(CsvState state, char c, const CsvSyntax& syntax) {
  if (state == CsvState::kQuoted) return c == '"' ? CsvState::kQuote : CsvState::kQuoted;
  if (state == CsvState::kMistake || c == '\r') return CsvState::kMistake;
  if (c == syntax.separator) return CsvState::kFieldBegin;
  const bool quote = c == '"' && syntax.quoting, blank = syntax.trim_blanks && (c == ' ' || c == '\t');
  switch (state) {
    case CsvState::kFieldBegin:
      if (quote) return CsvState::kQuoted;
      return blank ? CsvState::kFieldBegin : CsvState::kUnquoted;
    case CsvState::kUnquoted: return quote ? CsvState::kMistake : CsvState::kUnquoted;
    case CsvState::kQuote:
      if (quote) return CsvState::kQuoted;
      return blank ? CsvState::kQuotedEnd : CsvState::kMistake;
    default: return blank ? CsvState::kQuotedEnd : CsvState::kMistake;
  }
}

/// Splits one record after another.
class CsvSplitter {
 public:
  explicit CsvSplitter(CsvSyntax syntax) : syntax_(syntax) {}
  /// Finds the fields of `record`. InvalidArgument for a misplaced quote or CR, whose place is error_at().
  Result<void> split(std::string_view record);
  /// The fields of the last record. They point into the record or, if quotes were doubled, into the splitter's memory.
  const std::vector<std::string_view>& fields() const { return fields_; }
  /// The place of split()'s error in the record, in bytes.
  size_t error_at() const { return error_at_; }

 private:
  Result<size_t> take_quoted(std::string_view record, size_t open);
  Result<size_t> take_unquoted(std::string_view record, size_t begin);
  Error wrong(size_t at, const std::string& sentence);
  Error stray_quote(std::string_view field, size_t begin, size_t in_field);

  const CsvSyntax syntax_;
  std::vector<std::string_view> fields_;
  std::string unquoted_;                      // Fields whose doubled quotes were made single; fields_ points here.
  bool has_quotes_ = false, has_cr_ = false;  // True if the record has a quote; true if it has a CR.
  size_t error_at_ = 0;
};

}  // namespace shoal::data
