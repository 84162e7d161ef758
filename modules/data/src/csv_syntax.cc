// SPDX-License-Identifier: Apache-2.0
#include "csv_syntax.h"

#include <algorithm>

#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

constexpr std::string_view kBlanks = " \t";
constexpr const char* kNoQuoting = "if the file knows no quoting, set quoting to false (--no-quoting)";

}  // namespace

std::string_view without_blanks_around(std::string_view field) {
  const size_t first = field.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) return {};
  return field.substr(first, field.find_last_not_of(kBlanks) - first + 1);
}

CsvSyntax syntax_of(const CsvOptions& options) {
  return {.separator = options.separator, .quoting = options.quoting, .trim_blanks = options.trim_blanks};
}

std::string shown_text(std::string_view text) {
  constexpr size_t kShownMax = 40;
  constexpr std::string_view kHexadecimal = "0123456789abcdef";
  std::string shown;
  for (const char c : text.substr(0, kShownMax)) {
    const auto code = uint8_t(c);
    if (c == '\n') {
      shown += "\\n";
    } else if (c == '\r') {
      shown += "\\r";
    } else if (c == '\t') {
      shown += "\\t";
    } else if (code < ' ' || code == 0x7f) {
      shown += std::string("\\x") + kHexadecimal[code / 16] + kHexadecimal[code % 16];
    } else {
      shown += c;
    }
  }
  return shown;
}

Error CsvSplitter::wrong(size_t at, const std::string& sentence) {
  error_at_ = at;
  return invalid_argument(sentence);
}

Error CsvSplitter::stray_quote(std::string_view field, size_t begin, size_t in_field) {
  const std::string number = std::to_string(fields_.size() + 1);
  if (field.substr(0, in_field).find_first_not_of(kBlanks) == std::string_view::npos) {
    return wrong(begin + in_field, "a quote stands behind blanks in field " + number +
                                       "; set trim_blanks (--trim) if blanks around fields do not count; " + kNoQuoting);
  }
  constexpr size_t kExampleMax = 30;
  const std::string help = field.size() > kExampleMax ? "" : ", as in " + shown_text(csv_field(field, syntax_.separator));
  return wrong(begin + in_field, "a quote stands within field " + number +
                                     ", which does not begin with one; put the field in quotes and double the quote in it" +
                                     help + "; " + kNoQuoting);
}

/// Takes a field whose opening quote is at `open`. Returns the index of the separator behind the field, or the record's
/// size if the field is the last one.
Result<size_t> CsvSplitter::take_quoted(std::string_view record, size_t open) {
  const size_t first = open + 1;
  const size_t kept = unquoted_.size();
  size_t from = first;  // The bytes of the field before this offset have been copied to unquoted_.
  CsvState state = CsvState::kQuoted;
  size_t at = first, close = first;
  for (; at < record.size() && state != CsvState::kFieldBegin && state != CsvState::kMistake; ++at) {
    const CsvState after = csv_state_after(state, record[at], syntax_);
    if (state == CsvState::kQuoted && after == CsvState::kQuote) close = at;
    if (state == CsvState::kQuote && after == CsvState::kQuoted) {  // The second of two quotes: they count as one.
      unquoted_.append(record.substr(from, at - from));
      from = at + 1;
    }
    state = after;
  }
  if (state == CsvState::kQuoted)
    return wrong(open, std::string("the quoted field that begins here does not end; ") + kNoQuoting);
  const std::string number = std::to_string(fields_.size() + 1);
  if (state == CsvState::kMistake && record[at - 1] == '\r') {
    return wrong(at - 1, "a CR stands behind the closing quote of field " + number + "; lines end with LF, or CR LF");
  }
  if (state == CsvState::kMistake) {
    const auto lines = std::ranges::count(record.substr(open, at - open), '\n');
    const std::string begun = lines == 0 ? ""
                                         : ", which began " + std::to_string(lines) + (lines == 1 ? " line" : " lines") +
                                               " before (is its closing quote missing there?)";
    return wrong(at - 1, "text follows the closing quote of field " + number + begun +
                             "; a quote within a quoted field is doubled; " + kNoQuoting);
  }
  if (from == first) {
    fields_.push_back(record.substr(first, close - first));
  } else {
    unquoted_.append(record.substr(from, close - from));
    fields_.push_back(std::string_view(unquoted_).substr(kept));
  }
  return state == CsvState::kFieldBegin ? at - 1 : at;
}

Result<size_t> CsvSplitter::take_unquoted(std::string_view record, size_t begin) {
  const size_t end = std::min(record.find(syntax_.separator, begin), record.size());
  const std::string_view field = record.substr(begin, end - begin);
  const size_t quote = has_quotes_ && syntax_.quoting ? field.find('"') : std::string_view::npos;
  const size_t cr = has_cr_ ? field.find('\r') : std::string_view::npos;
  if (quote < cr) return stray_quote(field, begin, quote);
  if (cr != std::string_view::npos) {
    return wrong(begin + cr, "a CR without LF stands within field " + std::to_string(fields_.size() + 1) +
                                 "; lines end with LF, or CR LF, and a field with a CR has to be in quotes");
  }
  fields_.push_back(syntax_.trim_blanks ? without_blanks_around(field) : field);
  return end;
}

Result<void> CsvSplitter::split(std::string_view record) {
  fields_.clear();
  unquoted_.clear();
  unquoted_.reserve(record.size());
  has_quotes_ = record.find('"') != std::string_view::npos;
  has_cr_ = record.find('\r') != std::string_view::npos;
  for (size_t at = 0; at <= record.size(); ++at) {  // Each step takes a field; ++at passes over its separator.
    size_t open = at;
    if (has_quotes_ && syntax_.quoting) {
      const auto counts_not = [&](char c) {
        return csv_state_after(CsvState::kFieldBegin, c, syntax_) == CsvState::kFieldBegin;
      };
      while (open < record.size() && record[open] != syntax_.separator && counts_not(record[open])) ++open;
    }
    const bool quoted = has_quotes_ && syntax_.quoting && open < record.size() && record[open] == '"';
    if (quoted) {
      SHOAL_TRY(at, take_quoted(record, open));
    } else {
      SHOAL_TRY(at, take_unquoted(record, at));
    }
  }
  return {};
}

}  // namespace shoal::data
