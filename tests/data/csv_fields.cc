// SPDX-License-Identifier: Apache-2.0
// Reads CSV texts from standard input, many in a batch, and writes what their fields are, for hostile_csv.py and pandas_numbers.py
// to compare.
//
// A batch is its size in bytes (uint32), and then for each text: the text's bytes (uint32), the most bytes of a record
// (uint32), the number of columns (uint16; 0: however many there are), how many bytes are read at once (uint16), the
// separator, a byte of flags (1: quoting, 2: the only column is float32, 4: it is int64), the text. The answer has for each text: 0 or 1 (a
// byte), the bytes that follow (uint32), and for 0 the fields, with 0x1f between those of a record and 0x1e behind each
// record, float32 as eight hexadecimal digits, int64 as decimal ones; for 1 the error. Numbers are little-endian.
#include <bit>
#include <cstdio>
#include <cstring>
#include <string>

#include "csv_text.h"
#include "shoal/base/check.h"

namespace shoal::data {
namespace {

constexpr uint8_t kQuoting = 1, kFloat = 2, kInteger = 4;

/// The numbers and bytes of a batch, from its beginning.
class Input {
 public:
  explicit Input(std::string_view bytes) : bytes_(bytes) {}
  bool at_end() const { return bytes_.empty(); }
  uint32_t number(size_t width) {
    uint32_t value = 0;
    const std::string_view from = bytes(width);
    for (size_t i = width; i-- > 0;) value = value << 8 | uint8_t(from[i]);
    return value;
  }
  std::string_view bytes(size_t count) {
    SHOAL_CHECK(count <= bytes_.size());
    const std::string_view taken = bytes_.substr(0, count);
    bytes_.remove_prefix(count);
    return taken;
  }

 private:
  std::string_view bytes_;
};

void put_number(std::string& out, size_t value) {
  for (int shift = 0; shift < 32; shift += 8) out.push_back(char(value >> shift));
}

void put_float(std::string& out, float value) {
  char digits[9];
  std::snprintf(digits, sizeof digits, "%08x", unsigned(std::bit_cast<uint32_t>(value)));
  out += digits;
}

void put_field(std::string& out, const Tensor& field) {
  switch (field.dtype()) {
    case DType::kString: out += field.strings()[0]; break;
    case DType::kInt64: out += std::to_string(field.as<int64_t>()[0]); break;
    default: put_float(out, field.as<float>()[0]);
  }
}

/// One record after another into `out`, by their columns.
Result<void> put_rows(CsvReader& reader, const std::vector<CsvColumn>& columns, std::string& out) {
  SHOAL_TRY_VOID(reader.expect(columns));
  for (Element row;;) {
    SHOAL_TRY(const bool more, reader.next(row));
    if (!more) return {};
    for (size_t i = 0; i < columns.size(); ++i) {
      if (i > 0) out += '\x1f';
      put_field(out, *row.features.find(columns[i].name));
    }
    out += '\x1e';
  }
}

/// The same however many fields a record has.
Result<void> put_fields(CsvReader& reader, std::string& out) {
  for (;;) {
    SHOAL_TRY(const std::vector<std::string> fields, reader.fields());
    if (fields.empty()) return {};
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i > 0) out += '\x1f';
      out += fields[i];
    }
    out += '\x1e';
  }
}

void answer(Input& batch, std::string& out) {
  const size_t size = batch.number(4);
  CsvOptions options{.line_bytes_max = int64_t(batch.number(4))};
  const size_t count = batch.number(2), piece_bytes = batch.number(2);
  options.separator = char(batch.number(1));
  const auto flags = uint8_t(batch.number(1));
  options.quoting = (flags & kQuoting) != 0;
  std::vector<CsvColumn> columns;
  for (size_t i = 0; i < count; ++i) columns.push_back({.name = "c" + std::to_string(i)});
  if (flags & kFloat) columns[0] = {.name = "c0", .dtype = DType::kFloat32, .missing = "nan"};
  if (flags & kInteger) columns[0] = {.name = "c0", .dtype = DType::kInt64};
  CsvReader reader(bytes_of(std::string(batch.bytes(size)), piece_bytes), "t.csv", options);
  std::string fields;
  const Result<void> read = columns.empty() ? put_fields(reader, fields) : put_rows(reader, columns, fields);
  const std::string& text = read ? fields : read.error().message();
  out.push_back(char(read ? 0 : 1));
  put_number(out, text.size());
  out += text;
}

bool read_exactly(std::string& into, size_t bytes) {
  into.resize(bytes);
  return std::fread(into.data(), 1, bytes, stdin) == bytes;
}

}  // namespace
}  // namespace shoal::data

int main() {
  using namespace shoal::data;
  for (std::string bytes, out; read_exactly(bytes, 4);) {
    const size_t size = Input(bytes).number(4);
    if (!read_exactly(bytes, size)) return 1;
    out.clear();
    for (Input batch(bytes); !batch.at_end();) answer(batch, out);
    if (std::fwrite(out.data(), 1, out.size(), stdout) != out.size() || std::fflush(stdout) != 0) return 1;
  }
}
