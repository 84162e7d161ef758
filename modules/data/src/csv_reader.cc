// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/csv_reader.h"

#include <optional>
#include <utility>

#include "csv_record.h"
#include "record_reader.h"

namespace shoal::data {
namespace {

class CallSource final : public ByteSource {
 public:
  explicit CallSource(ReadBytes read) : read_(std::move(read)) {}
  Result<size_t> read(std::span<std::byte> out) override { return read_(out); }
  uint64_t left_max() const override { return UINT64_MAX; }

 private:
  const ReadBytes read_;
};

/// Describes the header: the record of a CSV file whose fields are the names of the columns.
struct HeaderRecord {
  uint64_t line = 0;
  size_t fields = 0;
  std::string first = {};  ///< Its first field.
};

/// Returns the last part of an error message about a record of `fields` fields. It says that the header may be a comment.
/// Returns "" unless the header has another number of fields, and has only one field or looks like a comment.
std::string header_hint(const HeaderRecord& header, size_t fields) {
  const std::string& first = header.first;
  if (fields == header.fields || (header.fields > 1 && !looks_like_remark(first))) return "";
  return "; the names of the columns were taken from line " + std::to_string(header.line) + ", which begins with \"" +
         shown_text(first) + "\": if that is a remark, count it among header_lines (--skip-lines)";
}

RecordOptions record_options(const CsvOptions& options) {
  return {.record_bytes_max = options.line_bytes_max, .table = syntax_of(options)};
}

}  // namespace

struct CsvReader::State {
  RecordReader reader;
  CsvOptions options;
  std::optional<CsvParser> parser = std::nullopt;
  bool began = false;
  std::string_view last = {};  // The record that CsvReader::next() gave last. It lies in the memory of `reader`.
  std::optional<HeaderRecord> header = std::nullopt;
  std::vector<std::string> passed = {};  // The fields of the last header line, if it was read before `parser` existed.

  /// Reads the next record after the header lines; false at the end.
  Result<bool> next(std::string_view& record) {
    if (!began) SHOAL_TRY_VOID(pass_header_lines());
    return reader.next(record);
  }
  /// Reads the header lines. If `parser` exists already, it gets its columns from the last header line. Otherwise
  /// `passed` gets the fields of that line.
  Result<void> pass_header_lines() {
    began = true;
    std::string_view record;
    for (int64_t line = 0; line < options.header_lines; ++line) {
      SHOAL_TRY(const bool more, reader.next(record));
      if (!more) return reader.damaged("the file ends in its header");
    }
    if (options.header_lines == 0) return {};
    if (parser) return follow_header(reader, record, *parser);
    auto fields = fields_of(record, options);
    if (fields) passed = std::move(*fields);
    return {};
  }
};

CsvReader::CsvReader(Hidden<State> state) : state_(std::move(state)) {}
CsvReader::CsvReader(ReadBytes read, std::string name, CsvOptions options)
    : state_(
          new State{{std::make_unique<CallSource>(std::move(read)), std::move(name), record_options(options)}, options}) {}
CsvReader::CsvReader(CsvReader&&) noexcept = default;
CsvReader& CsvReader::operator=(CsvReader&&) noexcept = default;
CsvReader::~CsvReader() = default;

Result<CsvReader> CsvReader::open(Storage& storage, const std::string& path, CsvOptions options) {
  SHOAL_TRY(RecordReader reader, RecordReader::open(storage, path, record_options(options)));
  return CsvReader(Hidden<State>(new State{std::move(reader), std::move(options)}));
}

Result<std::vector<std::string>> CsvReader::fields() {
  std::string_view record;
  SHOAL_TRY(const bool more, state_->next(record));
  if (!more) return std::vector<std::string>();
  SHOAL_TRY_VOID(check_syntax(state_->options));
  CsvSplitter splitter(syntax_of(state_->options));
  if (const auto split = splitter.split(record); !split) {
    return state_->reader.damaged_at(split.error().message(), record, splitter.error_at());
  }
  return std::vector<std::string>(splitter.fields().begin(), splitter.fields().end());
}

Result<std::vector<std::string>> CsvReader::name_columns(const std::vector<std::string>& names) {
  if (!state_->began) SHOAL_TRY_VOID(state_->pass_header_lines());
  const std::vector<std::string>& header = state_->passed;
  if (header.size() != names.size() || looks_like_remark(header[0])) return std::vector<std::string>();
  if (state_->options.by_position) return header;
  if (auto checked = check_given_names(names, header); !checked) {
    return invalid_argument(damaged(checked.error().message()).message());
  }
  return header;
}

Result<std::vector<std::string>> CsvReader::header() {
  SHOAL_TRY(std::vector<std::string> names, fields());
  if (names.empty()) return names;
  if (names.size() == 1 && names[0].find_first_not_of(" \t") == std::string::npos) {
    return damaged(
        "the line is blank, and the names of the columns are expected there; if they come later, count the line "
        "among header_lines (--skip-lines)");
  }
  state_->header = HeaderRecord{state_->reader.last().line, names.size(), names[0]};
  return names;
}

Result<void> CsvReader::expect(std::vector<CsvColumn> columns, std::vector<std::string> unused) {
  CsvOptions options = state_->options;
  options.columns = std::move(columns);
  options.unused = std::move(unused);
  SHOAL_TRY_VOID(check_csv(options));
  state_->options = options;
  state_->parser.emplace(std::move(options));
  return {};
}

Result<bool> CsvReader::next(Element& element) {
  if (!state_->parser) SHOAL_TRY_VOID(expect(state_->options.columns, state_->options.unused));
  std::string_view record;
  do {
    SHOAL_TRY(const bool more, state_->next(record));
    if (!more) return false;
  } while (record.empty());
  state_->last = record;
  CsvParser& parser = *state_->parser;
  if (auto parsed = parser.parse(record, element); !parsed) {
    const std::optional<HeaderRecord>& header = state_->header;
    const std::string hint = header && parser.error_at() == 0 ? header_hint(*header, parser.fields_found()) : "";
    return state_->reader.damaged_at(parsed.error().message() + hint, record, parser.error_at());
  }
  return true;
}

std::vector<std::string> CsvReader::last_fields() const {
  const auto fields = fields_of(state_->last, state_->options);
  return fields ? *fields : std::vector<std::string>();  // next() would have refused a record that cannot be split.
}

Error CsvReader::damaged(const std::string& sentence) const { return state_->reader.damaged(sentence); }
std::optional<std::string> CsvReader::remark() const { return state_->reader.remark(); }
std::string CsvReader::place() const { return state_->reader.place_text(); }

}  // namespace shoal::data
