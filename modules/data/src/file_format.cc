// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/file_format.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "byte_source.h"
#include "csv_number.h"
#include "csv_syntax.h"
#include "no_text.h"
#include "shoal/base/crc32c.h"
#include "shoal/base/storage.h"
#include "shoal/base/utf8.h"
#include "tar_header.h"
#include "tf_example_wire.h"

namespace shoal::data {
namespace {

using namespace std::string_view_literals;

constexpr size_t kLookedAtBytes = 64 << 10;
constexpr size_t kRecordsCompared = 20;
constexpr std::string_view kSeparators = ",\t;|";

constexpr std::pair<FileFormat, std::string_view> kNames[] = {
    {FileFormat::kText, "text"},
    {FileFormat::kCsv, "csv"},
    {FileFormat::kJsonLines, "json-lines"},
    {FileFormat::kTfExample, "tf-example"},
    {FileFormat::kTfRecord, "tf-record"},
    {FileFormat::kNpy, "npy"},
    {FileFormat::kNpz, "npz"},
    {FileFormat::kTar, "tar"},
    {FileFormat::kIdx, "idx"},
    {FileFormat::kImage, "image"},
};

/// The first bytes of a file's contents, uncompressed, without a byte order mark.
class Beginning {
 public:
  static Result<Beginning> read(Storage& storage, const std::string& path) {
    Beginning begin;
    SHOAL_TRY(begin.source_, open_bytes(storage, path));
    SHOAL_TRY_VOID(begin.read_on(kLookedAtBytes));
    begin.bytes_.erase(0, byte_order_mark_in(begin.bytes_));
    return begin;
  }
  /// Reads up to `count` bytes more.
  Result<void> read_on(size_t count) {
    const size_t before = bytes_.size();
    bytes_.resize(before + count);
    SHOAL_TRY(const size_t read, source_->read(std::as_writable_bytes(std::span(bytes_).subspan(before))));
    bytes_.resize(before + read);
    is_all_ = read < count;
    return {};
  }
  std::string_view bytes() const { return bytes_; }
  bool is_all() const { return is_all_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::string bytes_;
  bool is_all_ = false;
};

uint64_t little_endian(std::string_view bytes) {
  uint64_t value = 0;
  for (size_t i = bytes.size(); i-- > 0;) value = value << 8 | uint8_t(bytes[i]);
  return value;
}

/// Whether the checksum of the first record's length is right (TFRecord framing); other files hardly match it by chance.
bool begins_as_tf_record(std::string_view begin) {
  constexpr size_t kHeaderBytes = 12;
  return begin.size() >= kHeaderBytes &&
         masked_crc(crc32c(begin.substr(0, 8))) == uint32_t(little_endian(begin.substr(8, 4)));
}

/// Whether the first record that has features is a tf.Example. If `begin` holds only a part of that record, its first byte
/// decides.
bool has_tf_example(std::string_view begin) {
  constexpr size_t kHeaderBytes = 12, kFooterBytes = 4;
  while (begin.size() > kHeaderBytes) {
    const uint64_t bytes = little_endian(begin.substr(0, 8));
    begin.remove_prefix(kHeaderBytes);
    if (begin.size() < bytes) return begin.starts_with('\n');  // '\n' is the protobuf tag of field 1 of tf.Example.
    TfRecord example;
    if (!example.read(begin.substr(0, bytes))) return false;
    if (!example.values().empty()) return true;
    begin.remove_prefix(std::min<size_t>(begin.size(), bytes + kFooterBytes));
  }
  return false;
}

bool begins_as_idx(std::string_view begin) {
  constexpr std::string_view kTypes = "\x08\x09\x0b\x0c\x0d\x0e";
  return begin.size() >= 4 && begin.starts_with("\0\0"sv) && kTypes.find(begin[2]) != std::string_view::npos &&
         begin[3] >= 1 && begin[3] <= 8;
}

bool begins_as_tar(std::string_view begin) {
  TarBlock block{};
  if (begin.size() < block.size()) return false;
  std::memcpy(block.data(), begin.data(), block.size());
  return !is_zero_block(block) && parse_tar_header(block).has_value();
}

/// Only the first member's name is looked at here; the reader checks that the archive's other members are arrays, too.
bool first_member_is_array(std::string_view begin) {
  constexpr size_t kNameLengthAt = 26, kNameAt = 30;
  if (begin.size() < kNameAt) return false;
  return begin.substr(kNameAt, little_endian(begin.substr(kNameLengthAt, 2))).ends_with(".npy");
}

/// Returns the first whole records behind the header lines, at most kRecordsCompared of them; empty lines do not count.
std::vector<std::string_view> first_records(const Beginning& begin, const CsvSyntax& syntax, int64_t header_lines) {
  std::vector<std::string_view> records;
  const std::string_view text = begin.bytes();
  size_t first = 0;
  CsvState state = CsvState::kFieldBegin;
  const auto hand_out = [&](size_t end) {
    std::string_view record = text.substr(first, end - first);
    if (record.ends_with('\r')) record.remove_suffix(1);
    if (header_lines > 0) {
      --header_lines;
    } else if (!record.empty()) {
      records.push_back(record);
    }
    first = end + 1;
    state = CsvState::kFieldBegin;
  };
  for (size_t i = 0; i < text.size() && records.size() < kRecordsCompared; ++i) {
    if (text[i] == '\n' && state != CsvState::kQuoted) {
      hand_out(i);
    } else if (text[i] != '\r' || state == CsvState::kQuoted) {
      state = csv_state_after(state, text[i], syntax);
    }
  }
  if (begin.is_all() && first < text.size() && records.size() < kRecordsCompared) hand_out(text.size());
  return records;
}

CsvSyntax syntax_with(char separator, const CsvOptions& table) {
  CsvSyntax syntax = syntax_of(table);
  syntax.separator = separator;
  return syntax;
}

/// Reads on until there are two whole records behind the header lines, whatever the separator is. Stops where the readers of
/// tables would: records have at most CsvOptions::line_bytes_max bytes.
Result<void> read_two_records(Beginning& begin, const CsvOptions& table) {
  const auto has_two = [&](char separator) {
    return first_records(begin, syntax_with(separator, table), table.header_lines).size() >= 2;
  };
  const double bytes_max = double(kLookedAtBytes) + double(table.header_lines + 2) * double(table.line_bytes_max);
  while (!begin.is_all() && double(begin.bytes().size()) < bytes_max && !std::ranges::all_of(kSeparators, has_two)) {
    SHOAL_TRY_VOID(begin.read_on(begin.bytes().size()));
  }
  return {};
}

size_t fields_in(std::string_view record, const CsvSyntax& syntax) {
  CsvSplitter splitter(syntax);
  return splitter.split(record) ? splitter.fields().size() : 0;
}

bool is_header(std::string_view record, const CsvSyntax& syntax) {
  CsvSplitter splitter(syntax);
  if (!splitter.split(record)) return false;
  return std::ranges::none_of(splitter.fields(), [](std::string_view field) {
    const std::string_view text = number_text(field, "");
    return text.empty() || notation_of(text) != Notation::kNone;
  });
}

std::string counted_fields(size_t count) { return std::to_string(count) + (count == 1 ? " field" : " fields"); }

/// What a separator makes of the first records of a file.
struct Division {
  CsvForm form;
  size_t fields = 0;           ///< The number of fields of the first record.
  size_t records = 0;          ///< The number of records that were compared.
  size_t odd_records = 0;      ///< How many of them have another number of fields.
  std::string_view first_odd;  ///< The first such record.
  bool is_table() const { return records >= 2 && fields >= 2 && odd_records == 0; }
  bool is_nearly_table() const { return fields >= 2 && odd_records > 0 && 2 * odd_records < records; }
};

Division division_by(char separator, const Beginning& begin, const CsvOptions& table) {
  const CsvSyntax syntax = syntax_with(separator, table);
  const std::vector<std::string_view> records = first_records(begin, syntax, table.header_lines);
  Division division{.form = {.separator = separator}, .records = records.size(), .first_odd = {}};
  if (records.empty()) return division;
  division.fields = fields_in(records.front(), syntax);
  for (const std::string_view record : records) {
    if (fields_in(record, syntax) == division.fields) continue;
    if (division.odd_records++ == 0) division.first_odd = record;
  }
  division.form.has_header = is_header(records.front(), syntax);
  return division;
}

/// A sentence about a file that would be a table without a few of its first records.
std::string nearly_table_text(const Division& division, const Beginning& begin, const CsvOptions& table) {
  const std::string_view before = begin.bytes().substr(0, size_t(division.first_odd.data() - begin.bytes().data()));
  const auto line = 1 + std::ranges::count(before, '\n');
  const char separator = division.form.separator;
  const size_t fields = fields_in(division.first_odd, syntax_with(separator, table));
  const std::string what = fields == 0 ? "has a misplaced quote" : "has " + counted_fields(fields);
  return "most of its first lines have " + counted_fields(division.fields) + ", separated by " +
         (separator == '\t' ? "tabs" : std::string("\"") + separator + "\"") + ", but line " + std::to_string(line) + " " +
         what + ", so the file is taken for text; --format csv takes it for a table";
}

/// Finds the separator that divides the first records into the most columns, at least two. If none divides all of them into
/// the same number of columns, the file is text.
RecognisedFile table_or_text(const Beginning& begin, const CsvOptions& table) {
  std::optional<Division> best, nearly;
  for (const char separator : kSeparators) {
    const Division division = division_by(separator, begin, table);
    if (division.is_table() && (!best || division.fields > best->fields)) best = division;
    if (division.is_nearly_table() && (!nearly || division.fields > nearly->fields)) nearly = division;
  }
  if (best) return {.format = FileFormat::kCsv, .csv = best->form};
  if (!nearly) return {};
  return {.csv = nearly->form, .remark = nearly_table_text(*nearly, begin, table)};
}

bool begins_with_object(std::string_view text, int64_t header_lines) {
  for (; header_lines > 0; --header_lines) {
    const size_t line_end = text.find('\n');
    if (line_end == std::string_view::npos) return false;
    text.remove_prefix(line_end + 1);
  }
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string_view::npos || text[first] != '{') return false;
  const size_t second = text.find_first_not_of(" \t", first + 1);
  return second == std::string_view::npos || text[second] == '"' || text[second] == '}';
}

std::optional<FileFormat> binary_format(std::string_view begin) {
  if (begin.starts_with("\x93NUMPY"sv)) return FileFormat::kNpy;
  if (begin.starts_with("PK\x03\x04"sv) && first_member_is_array(begin)) return FileFormat::kNpz;
  if (begin.starts_with("\x89PNG\r\n"sv) || begin.starts_with("\xff\xd8\xff"sv)) return FileFormat::kImage;
  if (begins_as_tf_record(begin)) return has_tf_example(begin) ? FileFormat::kTfExample : FileFormat::kTfRecord;
  if (begins_as_tar(begin)) return FileFormat::kTar;
  if (begins_as_idx(begin)) return FileFormat::kIdx;
  return std::nullopt;
}

}  // namespace

std::string_view to_string(FileFormat format) {
  return std::ranges::find(kNames, format, &std::pair<FileFormat, std::string_view>::first)->second;
}

std::optional<FileFormat> file_format_from(std::string_view name) {
  const auto* const found = std::ranges::find(kNames, name, &std::pair<FileFormat, std::string_view>::second);
  return found == std::end(kNames) ? std::nullopt : std::optional(found->first);
}

Result<RecognisedFile> recognise_file(Storage& storage, const std::string& path, const CsvOptions& table) {
  SHOAL_TRY(Beginning begin, Beginning::read(storage, path));
  if (const auto format = binary_format(begin.bytes())) return RecognisedFile{.format = *format};
  if (const auto what = what_are_no_lines(begin.bytes())) return failed_precondition(path + " " + *what);
  if (const size_t zero = begin.bytes().find('\0'); zero != std::string::npos) {
    return data_loss(
        path + " (offset " + std::to_string(zero) +
        "): a zero byte, so that the file is no text, and it begins as no format that is known; --format names one");
  }
  if (begins_with_object(begin.bytes(), table.header_lines)) return RecognisedFile{.format = FileFormat::kJsonLines};
  SHOAL_TRY_VOID(read_two_records(begin, table));
  return table_or_text(begin, table);
}

Result<CsvForm> infer_csv_form(Storage& storage, const std::string& path, std::optional<char> separator,
                               const CsvOptions& table) {
  SHOAL_TRY(Beginning begin, Beginning::read(storage, path));
  SHOAL_TRY_VOID(read_two_records(begin, table));
  if (!separator) {
    const RecognisedFile recognised = table_or_text(begin, table);
    if (recognised.format == FileFormat::kCsv || !recognised.remark.empty()) return recognised.csv;
  }
  return division_by(separator.value_or(','), begin, table).form;
}

}  // namespace shoal::data
