// SPDX-License-Identifier: Apache-2.0
// A text file: a byte of options, 2 bytes of how long a record may be, the file. Its records are lines, or parsed as CSV.
// From the place of a record it is read again; a record of texts, put in quotes, says the same.
#include <vector>

#include "csv_record.h"
#include "memory_storage.h"
#include "record_reader.h"
#include "shoal/base/check.h"
#include "shoal/data/file_format.h"
#include "target.h"

namespace shoal::data {
namespace {

const std::string kPath = "a.csv";

struct Record {
  std::string text;
  RecordReader::Place place;
};

std::vector<Record> read_all(fuzz::MemoryStorage& storage, RecordOptions options) {
  std::vector<Record> records;
  RecordReader reader = value_or_raise(RecordReader::open(storage, kPath, options));
  for (std::string_view record;;) {
    const Result<bool> more = reader.next(record);
    if (!more) fuzz::touch(more.error().message());
    if (!more || !*more) return records;
    SHOAL_CHECK(int64_t(record.size()) <= options.record_bytes_max);
    records.push_back({std::string(record), reader.last()});
  }
}

void read_from_its_place(fuzz::MemoryStorage& storage, RecordOptions options, const Record& record) {
  RecordReader reader = value_or_raise(RecordReader::open(storage, kPath, options));
  SHOAL_CHECK(reader.go_to(record.place, std::nullopt));
  std::string_view text;
  const Result<bool> more = reader.next(text);
  SHOAL_CHECK(more && *more && text == record.text && reader.last().line == record.place.line);
}

std::string in_quotes(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) quoted.append(c == '"' ? 2 : 1, c);
  return quoted + "\"";
}

void parse_texts(const std::string& record, CsvOptions options) {
  CsvParser parser(options);
  Element element, again;
  if (!parser.parse(record, element)) return;
  std::string quoted;
  for (const CsvColumn& column : options.columns) {
    if (!quoted.empty()) quoted += options.separator;
    quoted += in_quotes(element.features.find(column.name)->strings()[0]);
  }
  options.quoting = true;
  CsvParser parser_of_quotes(options);
  SHOAL_CHECK(parser_of_quotes.parse(quoted, again));
  for (const CsvColumn& column : options.columns) {
    SHOAL_CHECK(again.features.find(column.name)->strings()[0] == element.features.find(column.name)->strings()[0]);
  }
}

/// A header gives each column one place, or none of them, or is refused.
void match_header(const std::string& record, const CsvOptions& options) {
  const auto header = fields_of(record, options);
  if (!header) return fuzz::touch(header.error().message());
  const auto layout = layout_by_header(*header, options);
  if (!layout) return fuzz::touch(layout.error().message());
  std::vector<int> times(options.columns.size());
  for (const size_t column : *layout) {
    if (column != kPassedOver) ++times.at(column);
  }
  for (const int count : times) SHOAL_CHECK(count == 1);
}

void parse_numbers(const std::string& record, CsvOptions options) {
  options.columns[0].dtype = DType::kFloat32;
  options.columns[1].dtype = DType::kInt64;
  options.columns[1].missing = "-1";
  options.columns[2].dtype = DType::kInt32;
  options.labels = {options.columns[2].name};
  CsvParser parser(options);
  Element element;
  const Result<void> parsed = parser.parse(record, element);
  if (!parsed) fuzz::touch(parsed.error().message());
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const auto how = input.take<uint8_t>();
  const int64_t record_bytes_max = 1 + input.take<uint16_t>();
  CsvOptions csv{.columns = {{"first"}, {"second"}, {"third"}}, .labels = {}, .unused = {}, .missing_text = "?"};
  csv.separator = ",;\t "[how / 2 % 4];
  csv.trim_blanks = (how & 8) != 0;
  csv.quoting = (how & 16) == 0;
  SHOAL_CHECK(check_csv(csv));
  const RecordOptions options{.record_bytes_max = record_bytes_max,
                              .table = (how & 1) != 0 ? std::optional(syntax_of(csv)) : std::nullopt};
  fuzz::MemoryStorage storage;
  storage.files[kPath] = input.text();
  for (const std::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\x04\x22\x4d\x18"}) {
    if (input.text().starts_with(magic)) return 0;  // Another target reads compressed files.
  }
  const auto recognised = recognise_file(storage, kPath);
  fuzz::touch(recognised ? to_string(recognised->format) : std::string_view(recognised.error().message()));
  csv.header_lines = how / 32;
  SHOAL_CHECK(recognise_file(storage, kPath, csv).has_value() == recognised.has_value());
  csv.header_lines = 0;
  if (recognised)
    SHOAL_CHECK(infer_csv_form(storage, kPath, std::nullopt) && infer_csv_form(storage, kPath, csv.separator));
  const std::vector<Record> records = read_all(storage, options);
  if (!records.empty()) read_from_its_place(storage, options, records[how % records.size()]);
  for (const Record& record : records) {
    parse_texts(record.text, csv);
    match_header(record.text, csv);
    parse_numbers(record.text, csv);
  }
  return 0;
}
