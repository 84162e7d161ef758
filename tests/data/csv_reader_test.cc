// SPDX-License-Identifier: Apache-2.0
/// CSV text, record after record.
#include "shoal/data/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "../base/temporary_folder.h"
#include "csv_text.h"
#include "shoal/base/random.h"

namespace shoal::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

TEST(CsvReader, ReadsHeaderAndRecordsFromPiecesOfAnySize) {
  const std::string text = "remark\n\xEF\xBB\xBFname,\"age, years\",note\nada,36,\"a\nb\"\n\n\"t\"\"m\",,x\n";
  for (size_t piece_bytes : {1, 2, 3, 7, 1000}) {
    CsvReader reader(bytes_of(text, piece_bytes), "a pipe", {.header_lines = 1});
    const auto names = value_or_raise(reader.fields());
    ASSERT_THAT(names, ElementsAre("\xEF\xBB\xBFname", "age, years", "note"));  // A mark counts at the start only.
    value_or_raise(reader.expect({{names[0]}, {names[1], DType::kFloat32, "-1"}, {names[2]}}, {names[2]}));
    Element row;
    ASSERT_TRUE(value_or_raise(reader.next(row)));
    EXPECT_EQ(row.features.size(), 2u);
    EXPECT_EQ(row.features.find(names[0])->strings()[0], "ada");
    EXPECT_EQ(row.features.find(names[1])->as<float>()[0], 36.f);
    ASSERT_TRUE(value_or_raise(reader.next(row)));
    EXPECT_EQ(row.features.find(names[0])->strings()[0], "t\"m");
    EXPECT_EQ(row.features.find(names[1])->as<float>()[0], -1.f);
    EXPECT_FALSE(value_or_raise(reader.next(row)));
    EXPECT_THAT(value_or_raise(reader.fields()), IsEmpty());
  }
}

TEST(CsvReader, SaysWhereAndWhatIsWrong) {
  CsvReader reader(bytes_of("1\n2\nx\n", 4), "a pipe", {.columns = {{"n", DType::kInt64}}});
  Element row;
  ASSERT_TRUE(value_or_raise(reader.next(row)));
  ASSERT_TRUE(value_or_raise(reader.next(row)));
  const auto damaged = reader.next(row);
  ASSERT_FALSE(damaged);
  EXPECT_EQ(damaged.error().kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(
      damaged.error().message(),
      "a pipe, line 3 (offset 4): the field of column n is \"x\", expected int64; if that says that it is missing, let "
      "missing_text (--missing) be that text");
  EXPECT_THAT(reader.damaged("more").message(), HasSubstr("line 3 (offset 4): more"));

  CsvReader no_columns(bytes_of("1\n", 2), "a pipe", {});
  EXPECT_EQ(no_columns.next(row).error().kind(), ErrorKind::kInvalidArgument);
  CsvReader short_text(bytes_of("1\n", 2), "a pipe", {.header_lines = 2});
  EXPECT_THAT(short_text.fields().error().message(), HasSubstr("ends in its header"));
  CsvReader open_quote(bytes_of("a,\"b\n", 2), "a pipe", {});
  EXPECT_EQ(open_quote.fields().error().kind(), ErrorKind::kDataLoss);
  CsvReader broken([](std::span<std::byte>) -> Result<size_t> { return unavailable("gone"); }, "a pipe", {});
  EXPECT_EQ(broken.fields().error().message(), "gone");
  CsvReader compressed(bytes_of("\x1f\x8b\x08 and so on\n", 100), "a pipe", {});
  EXPECT_THAT(compressed.fields().error().message(), HasSubstr("gunzip"));
}

/// The error of the first call on `text`, as a table whose first line is its header.
std::string refused_header(const std::string& text, size_t piece_bytes = 1000) {
  CsvReader reader(bytes_of(text, piece_bytes), "people.csv", {});
  const auto names = reader.header();
  return names ? "" : std::string(to_string(names.error().kind())) + ": " + names.error().message();
}

TEST(CsvReader, NamesWhatIsNoTableByItsContent) {
  using namespace std::string_literals;
  const std::pair<std::string, const char*> files[] = {
      {"PK\x03\x04\x14\0\0\0\x08\0 [Content_Types].xml"s, "people.csv is a zip archive (.xlsx"},
      {"\xfd"
       "7zXZ\0\0\x04"s,
       "people.csv is compressed with xz; decompress it with unxz"},
      {"BZh91AY&SY\x01\x02", "people.csv is compressed with bzip2"},
      {"\x28\xb5\x2f\xfd\x04", "people.csv is compressed with zstd"},
      {"\x1f\x8b\x08\0\n"s, "people.csv is compressed with gzip"},
      {"7z\xbc\xaf\x27\x1c\0\x04"s, "people.csv is a 7z archive"},
      {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1\0"s, "Microsoft Office"},
      {"PAR1\x15\x04\0"s, "is a Parquet file"},
      {"SQLite format 3\0\x10"s, "is a database of SQLite"},
      {"%PDF-1.7\n%\xe2", "is a PDF document"},
      {"version https://git-lfs.github.com/spec/v1\noid sha256:4d\n", "is a pointer of Git LFS"},
      {"<!DOCTYPE html>\n<html>\n", "is a page of HTML"},
      {"people/a.csv" + std::string(245, '\0') + "ustar\0" + "00 name,age\n"s, "is a tar archive"},
      {"\xff\xfen\0a\0m\0e\0,\0a\0g\0e\0\n\0"s,
       "is text in UTF-16; write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"},
      {"n\0a\0,\0b\0\n\0"s, "is text in UTF-16; write it as UTF-8, for example with iconv -f UTF-16LE -t UTF-8"},
      {"\0n\0a\0,\0b\0\n"s, "iconv -f UTF-16BE"},
      {"\xff\xfe\0\0n\0\0\0"s, "is text in UTF-32"},
      {"n\0\0\0,\0\0\0b\0\0\0\n\0\0\0"s, "iconv -f UTF-32LE"},
      {"\0\0\0n\0\0\0,\0\0\0b\0\0\0\n"s, "iconv -f UTF-32BE"},
      {"\x1f\x9d\x90\n", "is compressed with compress"},
      {"\x5d\0\0\x80\0\n"s, "is compressed with lzma"},
      {"LZIP\x01\n", "is compressed with lzip"},
      {"\x89PNG\r\n\x1a\n\0"s, "is an image (PNG)"},
      {"\x80\x04\x95\x05\0\n"s, "is a pickle of Python"},
      {"Obj\x01\x04\n", "is an Avro file"},
      {"<?xml version=\"1.0\"?>\n", "is XML"},
      {"{\"a\": 1, \"b\": 2}\n{\"a\": 3, \"b\": 4}\n", "is JSON"},
      {"\xEF\xBB\xBF[{\"a\": 1}]\n", "is JSON"},
      {"ab\0c,\0\0\0\n"s, "has bytes of 0 in it"},
      {"name,age\rada,36\rbob,41\r", "has lines that end with CR alone"}};
  for (const auto& [bytes, sentence] : files) {
    for (const size_t piece : {size_t(1), size_t(1000)}) {
      EXPECT_THAT(refused_header(bytes, piece),
                  testing::AllOf(testing::StartsWith("FailedPrecondition: people.csv "), HasSubstr(sentence)));
    }
  }
  // Tables whose first bytes only look like those of an archive.
  for (const char* text : {"PK,BZh,7z\n1,2,3\n", "a,b\r\n1,2\r\n", "\"a\rb\",c\n", "BZh9,x\n", "PAR1,x\n", "a,b\r"}) {
    EXPECT_EQ(refused_header(text), "");
  }
  // A record that is too long is that file's, too: CR alone makes the whole file one line.
  std::string long_file = "name,age\r";
  for (int i = 0; i < 200; ++i) long_file += "ada,36\r";
  CsvReader reader(bytes_of(long_file, 1000), "old.csv", {.line_bytes_max = 100});
  EXPECT_THAT(reader.header().error().message(), HasSubstr("old.csv has lines that end with CR alone"));
}

TEST(CsvReader, AHeaderIsNoBlankLineAndNoRemark) {
  EXPECT_THAT(
      refused_header("\nname,age\nada,36\n"),
      HasSubstr("people.csv, line 1 (offset 0): the line is blank, and the names of the columns are expected there; if "
                "they come later, count the line among header_lines (--skip-lines)"));
  EXPECT_THAT(refused_header(" \t\nname,age\n"), HasSubstr("the line is blank"));
  CsvReader remark(bytes_of("# made by hand\nname,age\nada,36\n", 7), "people.csv", {});
  const auto names = value_or_raise(remark.header());
  ASSERT_THAT(names, ElementsAre("# made by hand"));
  value_or_raise(remark.expect({{names[0]}}));
  Element row;
  EXPECT_THAT(remark.next(row).error().message(),
              HasSubstr("the record has 2 fields, expected 1; the names of the columns were taken from line 1, which "
                        "begins with \"# made by hand\": if that is a remark, count it among header_lines (--skip-lines)"));
  // A row of a table with a header that is one says nothing of it.
  CsvReader other(bytes_of("name,age\nada,36,x\n", 7), "people.csv", {});
  value_or_raise(other.header());
  value_or_raise(other.expect({{"name"}, {"age"}}));
  EXPECT_THAT(other.next(row).error().message(), testing::EndsWith("the record has 3 fields, expected 2"));
}

/// Reads `text` as a field of a column of this type: gives its value, or the hint of the error.
template <class T>
std::string as_number(const std::string& text, DType dtype) {
  CsvReader reader(bytes_of(csv_field(text) + "\n", 1000), "n.csv", {.columns = {{"n", dtype}}});
  Element row;
  const auto read = reader.next(row);
  if (read) return std::to_string(row.features.find("n")->as<T>()[0]);
  const std::string message = read.error().message();
  const size_t hint = message.find("; ");
  return hint == std::string::npos ? "?" : message.substr(hint + 2);
}

TEST(CsvReader, AWholeNumberMayHaveAFractionOfZero) {
  const auto whole = [](const std::string& text) { return as_number<int64_t>(text, DType::kInt64); };
  EXPECT_EQ(whole("70.0"), "70");
  EXPECT_EQ(whole("-70."), "-70");
  EXPECT_EQ(whole("+70.00"), "70");
  EXPECT_EQ(whole("1e6"), "1000000");
  EXPECT_EQ(whole("9223372036854775807.0"), "9223372036854775807");  // Beyond what a double holds.
  EXPECT_EQ(whole("70.5"), "it has a fraction, so the column has to be float32");
  EXPECT_THAT(whole("9223372036854775808"), HasSubstr("it is beyond the range of int64"));
  EXPECT_EQ(whole("1e17"), "100000000000000000");
  EXPECT_EQ(whole("9007199254740992.5"), "it has a fraction, so the column has to be float32");
  EXPECT_EQ(whole("1e-400"), "it has a fraction, so the column has to be float32");
  EXPECT_THAT(whole("1e19"), HasSubstr("it is beyond the range of int64"));
  EXPECT_EQ(whole("inf"), "a column with such values has to be float32");
  EXPECT_EQ(as_number<int32_t>("70.0", DType::kInt32), "70");
  EXPECT_THAT(as_number<int32_t>("3e9", DType::kInt32), HasSubstr("it is beyond the range of int32"));
}

TEST(CsvReader, SaysWhatHelpsWhereAFieldIsNoNumber) {
  const auto hint = [](const std::string& text) { return as_number<float>(text, DType::kFloat32); };
  const std::string point = "numbers are read with a point, and without marks between thousands: ";
  EXPECT_EQ(hint("1,234"), point + "1234 or 1.234");
  EXPECT_EQ(hint("1,234,567"), point + "1234567");
  EXPECT_EQ(hint("1,234.5"), point + "1234.5");
  EXPECT_EQ(hint("1.234,5"), point + "1234.5");
  EXPECT_EQ(hint("50,5"), point + "50.5");
  EXPECT_EQ(hint("1'234'567"), "numbers are read without marks between thousands: 1234567");
  EXPECT_EQ(hint("1 234"), "numbers are read without blanks: 1234");
  EXPECT_EQ(hint("0x1F"), "numbers are read in decimal: 31");
  EXPECT_EQ(hint("-0xff"), "numbers are read in decimal: -255");
  EXPECT_EQ(hint("12%"), "numbers are read without a unit: 12");
  EXPECT_EQ(hint("$5"), "numbers are read without a unit: 5");
  EXPECT_EQ(hint("True"), "write 1 and 0 for it, or let the column be text");
  EXPECT_EQ(hint("n/a"), "if that says that it is missing, let missing_text (--missing) be that text");
  EXPECT_EQ(hint("12a"), "?");
  EXPECT_THAT(hint("n"), HasSubstr("that is the column's name: if the line is a header, count it among header_lines"));
}

TEST(CsvReader, ARecordThatIsTooLongNamesTheOptions) {
  CsvReader reader(bytes_of("a\n" + std::string(30, 'x') + "\n", 1000), "t.csv",
                   {.columns = {{"n"}}, .line_bytes_max = 20});
  Element row;
  ASSERT_TRUE(value_or_raise(reader.next(row)));
  EXPECT_THAT(reader.next(row).error().message(),
              testing::EndsWith("the record is longer than 20 bytes (line_bytes_max, --line-bytes-max)"));
  CsvReader quoted(bytes_of("a\n\"5 pipe\n" + std::string(30, 'x') + "\n", 1000), "t.csv",
                   {.columns = {{"n"}}, .line_bytes_max = 20});
  ASSERT_TRUE(value_or_raise(quoted.next(row)));
  EXPECT_THAT(quoted.next(row).error().message(),
              testing::AllOf(HasSubstr("t.csv, line 2 (offset 2): the record is longer than 20 bytes"),
                             HasSubstr("the quoted field that begins here has no end before that")));
}

TEST(CsvReader, ReadsAFile) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  std::ofstream(folder / "t.csv") << "a;b\n1;x\n";
  CsvReader reader = value_or_raise(CsvReader::open(*storage, folder / "t.csv", {.separator = ';'}));
  EXPECT_THAT(value_or_raise(reader.fields()), ElementsAre("a", "b"));
  EXPECT_EQ(CsvReader::open(*storage, folder / "none.csv", {}).error().kind(), ErrorKind::kNotFound);
}

/// The three texts of the one record in `text`, or the error.
std::string texts_by_columns(const std::string& text, CsvOptions options) {
  options.columns = {{.name = "a"}, {.name = "b"}, {.name = "c"}};
  CsvReader reader(bytes_of(text), "t.csv", options);
  Element element;
  const auto more = reader.next(element);
  if (!more) return " " + more.error().message();
  if (!*more) return "";
  std::string all;
  for (const char* name : {"a", "b", "c"}) all += (all.empty() ? "[" : "|") + element.features[name].strings()[0];
  return all + "]";
}

// Most records take another way to their columns than fields() takes: all that may stand in a record gives the same texts and
// the same errors.
TEST(CsvReader, ColumnsAreTheFields) {
  constexpr std::string_view kBytes = "\"\"\",,;a1 \t\r";
  RandomStream random(RandomKey{11});
  int64_t alike = 0, refused = 0;
  for (int i = 0; i < 200'000; ++i) {
    std::string text = random.below(2) == 0 ? "b" : "";
    for (uint64_t bytes = random.below(14); bytes > 0; --bytes) text += kBytes[random.below(kBytes.size())];
    const CsvOptions options{.separator = random.below(4) == 0 ? ';' : ',',
                             .trim_blanks = random.below(4) == 0,
                             .quoting = random.below(4) != 0};
    const std::string fields = records_of(text + "\n", options), columns = texts_by_columns(text + "\n", options);
    if (fields.starts_with("[") && std::ranges::count(fields, '|') == 2) {
      ASSERT_EQ(columns, fields) << text;
      ++alike;
    } else if (fields.starts_with(" ")) {
      ASSERT_EQ(columns, fields) << text;
      ++refused;
    } else {
      ASSERT_FALSE(columns.starts_with("[")) << text;
    }
  }
  EXPECT_GT(alike, 1000);
  EXPECT_GT(refused, 1000);
}

}  // namespace
}  // namespace shoal::data
