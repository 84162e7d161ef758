// SPDX-License-Identifier: Apache-2.0
// What format a file has by its contents, and arrays row by row.
#include "shoal/data/file_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../base/stored_gzip.h"
#include "../base/temporary_folder.h"
#include "shoal/base/storage.h"
#include "shoal/data/array_rows.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/npy.h"
#include "shoal/data/record_files.h"
#include "shoal/data/tar_files.h"
#include "shoal/data/tf_example.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;
using namespace std::string_literals;

class FileFormatTest : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path() + "/" + name; }
  Result<RecognisedFile> recognised(const std::string& contents) {
    folder_.write("f", contents);
    return recognise_file(*storage_, path("f"));
  }
  TemporaryFolder folder_;
  const std::unique_ptr<Storage> storage_ = make_file_storage();
};

TEST_F(FileFormatTest, NamesAreReadBack) {
  for (int i = 0; i <= int(FileFormat::kImage); ++i) EXPECT_EQ(file_format_from(to_string(FileFormat(i))), FileFormat(i));
  EXPECT_FALSE(file_format_from("parquet"));
}

TEST_F(FileFormatTest, LinesAreATableIfTheirFieldsAreAsMany) {
  const auto format_of = [this](const std::string& text) { return recognised(text)->format; };
  EXPECT_EQ(format_of(""), FileFormat::kText);
  EXPECT_EQ(format_of("a,b\n1,2\n"), FileFormat::kCsv);
  EXPECT_EQ(format_of("a,b\n"), FileFormat::kText);  // One line may be a sentence.
  EXPECT_EQ(format_of("a,b\n1,2,3\n"), FileFormat::kText);
  EXPECT_EQ(format_of("a\n1\n"), FileFormat::kText);
  EXPECT_EQ(format_of("{\"a\": 1}\n"), FileFormat::kJsonLines);
  EXPECT_EQ(format_of("{}\n"), FileFormat::kJsonLines);
  EXPECT_EQ(format_of("{a, b}\n{c, d}\n"), FileFormat::kCsv);
  EXPECT_EQ(format_of("\xEF\xBB\xBF"
                      "a\tb\r\n1\t2"),
            FileFormat::kCsv);
}

TEST_F(FileFormatTest, TheSeparatorIsTheOneOfMostColumnsAndNamesAreNoNumbers) {
  const CsvForm semicolons = recognised("a;b;\"c,\nd\"\n1,5;2;3\n")->csv;
  EXPECT_EQ(semicolons.separator, ';');
  EXPECT_TRUE(semicolons.has_header);
  EXPECT_FALSE(recognised("1|b\n2|c\n")->csv.has_header);
  EXPECT_EQ(recognised("1|b\n2|c\n")->csv.separator, '|');
  EXPECT_FALSE(recognised("a,\nb,c\n")->csv.has_header);  // A name is missing.
  folder_.write("one", "age\n3\n");
  EXPECT_TRUE(infer_csv_form(*storage_, path("one"), std::nullopt)->has_header);
}

TEST_F(FileFormatTest, LinesOfMoreThan64KiBAreATableToo) {
  std::string names, numbers;
  for (int i = 0; i < 12000; ++i) {
    names += (i > 0 ? ";gene_" : "gene_") + std::to_string(i);
    numbers += i > 0 ? ";5" : "5";
  }
  const RecognisedFile wide = value_or_raise(recognised(names + "\n" + numbers + "\n" + numbers + "\n"));
  EXPECT_EQ(wide.format, FileFormat::kCsv);
  EXPECT_EQ(wide.csv.separator, ';');
  EXPECT_TRUE(wide.csv.has_header);
  const CsvForm form = value_or_raise(infer_csv_form(*storage_, path("f"), std::nullopt));
  EXPECT_EQ(form.separator, ';');
  EXPECT_TRUE(form.has_header);
  EXPECT_TRUE(infer_csv_form(*storage_, path("f"), ';')->has_header);
  EXPECT_FALSE(recognised(numbers + "\n" + numbers + "\n")->csv.has_header);
  const std::string long_text = "a,\"" + std::string(100'000, 'x') + "\n\"\n";
  EXPECT_EQ(recognised("id,text\n" + long_text)->format, FileFormat::kCsv);
  // Longer records are errors of the readers, so no more is read.
  folder_.write("f", std::string(1 << 20, 'x') + ",a\n1,2\n");
  EXPECT_EQ(recognise_file(*storage_, path("f"), {.line_bytes_max = 1000})->format, FileFormat::kText);
}

TEST_F(FileFormatTest, ATextThatIsNearlyATableHasARemark) {
  const RecognisedFile odd = value_or_raise(recognised("a,b\n1,2\n3,4\n5,6,7\n"));
  EXPECT_EQ(odd.format, FileFormat::kText);
  EXPECT_THAT(odd.remark, HasSubstr("most of its first lines have 2 fields, separated by \",\", but line 4 has 3 fields"));
  EXPECT_THAT(recognised("a\tb\n\n1\t2\n3\t4\n \n")->remark, HasSubstr("separated by tabs, but line 5 has 1 field"));
  EXPECT_THAT(recognised("a,b\n1,2\n3,4\n5,\"6\"7\n")->remark, HasSubstr("but line 4 has a misplaced quote"));
  recognised("a;b\n1;2\n3;4\n5;6;7\n").value();
  const CsvForm form = value_or_raise(infer_csv_form(*storage_, path("f"), std::nullopt));
  EXPECT_EQ(form.separator, ';');  // As the remark says.
  EXPECT_TRUE(form.has_header);
  EXPECT_EQ(recognised("a,b\n1,2\n")->remark, "");
  EXPECT_EQ(recognised("Dear all,\nwell, yes,\nno\nno\nno\n")->remark, "");
}

TEST_F(FileFormatTest, BinaryFormatsAreToldByTheirFirstBytes) {
  ASSERT_TRUE(write_npy(*storage_, path("npy"), Tensor::of<float>({3}, {1, 2, 3})));
  ASSERT_TRUE(write_npz(*storage_, path("npz"), {{"x", Tensor::of<float>({3}, {1, 2, 3})}}));
  TfRecordWriter records = value_or_raise(TfRecordWriter::create(path("records")));
  ASSERT_TRUE(records.append("anything"));
  ASSERT_TRUE(records.finish());
  TfRecordWriter examples = value_or_raise(TfRecordWriter::create(path("examples")));
  ASSERT_TRUE(
      examples.append(make_tf_example({{"x", Tensor::of<int64_t>({20000}, std::vector<int64_t>(20000, 1 << 30))}})));
  ASSERT_TRUE(examples.finish());
  TarWriter tar = value_or_raise(TarWriter::create(path("tar")));
  ASSERT_TRUE(tar.append("a/1.txt", "x"));
  ASSERT_TRUE(tar.finish());
  const auto format_of = [this](const std::string& name) { return recognise_file(*storage_, path(name))->format; };
  EXPECT_EQ(format_of("npy"), FileFormat::kNpy);
  EXPECT_EQ(format_of("npz"), FileFormat::kNpz);
  EXPECT_EQ(format_of("records"), FileFormat::kTfRecord);
  EXPECT_EQ(format_of("examples"), FileFormat::kTfExample);  // Its first record is longer than what is looked at.
  EXPECT_EQ(format_of("tar"), FileFormat::kTar);
  EXPECT_EQ(recognised("\0\0\x08\x01\0\0\0\x02xy"s)->format, FileFormat::kIdx);
  EXPECT_EQ(recognised("\x89PNG\r\n\x1a\n")->format, FileFormat::kImage);
}

TEST_F(FileFormatTest, ATableIsRecognisedAsItWillBeRead) {
  folder_.write("f", "one remark\n\nsize,wood\n5,oak\n7,\"elm\n");
  EXPECT_EQ(recognise_file(*storage_, path("f"))->format, FileFormat::kText);
  const CsvOptions table{.header_lines = 2, .quoting = false};
  const RecognisedFile recognised = value_or_raise(recognise_file(*storage_, path("f"), table));
  EXPECT_EQ(recognised.format, FileFormat::kCsv);
  EXPECT_TRUE(recognised.csv.has_header);
  EXPECT_FALSE(infer_csv_form(*storage_, path("f"), ',', {.header_lines = 3, .quoting = false})->has_header);
  folder_.write("f", "a; \"b;c\"\n1;2\n");
  EXPECT_EQ(recognise_file(*storage_, path("f"))->format, FileFormat::kText);
  EXPECT_EQ(recognise_file(*storage_, path("f"), {.trim_blanks = true})->csv.separator, ';');
  folder_.write("f", "# objects\n{\"a\": 1}\n");
  EXPECT_EQ(recognise_file(*storage_, path("f"), {.header_lines = 1})->format, FileFormat::kJsonLines);
  EXPECT_EQ(recognise_file(*storage_, path("f"), {.header_lines = 7})->format, FileFormat::kText);
}

TEST_F(FileFormatTest, WhatIsNotReadIsNamed) {
  const auto office = recognised("PK\x03\x04 and so on");
  EXPECT_EQ(office.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(office.error().message(), HasSubstr(path("f") + " is a zip archive"));
  const auto zeros = recognised("ab\0cd"s);
  EXPECT_EQ(zeros.error().kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(recognise_file(*storage_, path("none")).error().kind(), ErrorKind::kNotFound);
}

TEST_F(FileFormatTest, FieldsOfTablesAreWhatCsvColumnsTakesThemFor) {
  for (const std::string field :
       {"1", "-7", "+3", "1.5", "9223372036854775808", "1e3", "nan", "inf", "0x1", "x", "", " ", " 4 ", "1e400", "?"}) {
    folder_.write("t", "a,b\n" + field + ",1\n");
    const CsvOptions options{.header_lines = 1, .missing_text = "?"};
    const auto columns = infer_csv_columns(path("t"), options);
    ASSERT_TRUE(columns) << columns.error().message();
    const CsvFieldKind kind = parse_csv_field(field, "?").kind;
    const DType expected = kind == CsvFieldKind::kWhole  ? DType::kInt64
                           : kind == CsvFieldKind::kText ? DType::kString
                                                         : DType::kFloat32;
    EXPECT_EQ((*columns)[0].dtype, expected) << field;
  }
  EXPECT_EQ(parse_csv_field(" -2.5 ").number, -2.5);
}

TEST_F(FileFormatTest, TfExampleTensorsAreAllListsOfARecord) {
  const TensorMap tensors{{"f", Tensor::of<float>({2}, {1.5f, -2})},
                          {"i", Tensor::of<int64_t>({3}, {1, -2, 3})},
                          {"s", Tensor::of_strings({1}, {"x"})}};
  const TensorMap read = value_or_raise(tf_example_tensors(make_tf_example(tensors)));
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read["f"].as<float>()[1], -2);
  EXPECT_EQ(read["i"].as<int64_t>()[1], -2);
  EXPECT_EQ(read["s"].strings()[0], "x");
  EXPECT_EQ(tf_example_tensors("\x0a\xff").error().kind(), ErrorKind::kDataLoss);
}

/// Programs write such records for a value that is missing.
TEST_F(FileFormatTest, ATfExampleMayHaveNamesWithoutValuesOrNoNames) {
  const std::string without_value("\x0a\x09\x0a\x07\x0a\x03\x61ge\x12\x00", 11);  // {"age": a Feature without a list}
  EXPECT_EQ(value_or_raise(tf_example_tensors(without_value)).size(), 0u);
  TfRecordWriter records = value_or_raise(TfRecordWriter::create(path("records")));
  ASSERT_TRUE(records.append(""));
  ASSERT_TRUE(records.append(std::string("\x0a\x00", 2)));
  ASSERT_TRUE(records.append(make_tf_example({{"age", Tensor::scalar<int64_t>(30)}})));
  ASSERT_TRUE(records.finish());
  EXPECT_EQ(recognise_file(*storage_, path("records"))->format, FileFormat::kTfExample);
}

TEST_F(FileFormatTest, RowsAreThoseOfTheWholeArray) {
  const Tensor numbers = Tensor::of<int64_t>({2, 3}, {1, 2, 3, 4, 5, 6});
  const Tensor texts = Tensor::of_strings({2}, {"a", "bc"});
  ASSERT_TRUE(write_npz(*storage_, path("z"), {{"n", numbers}, {"t", texts}, {"s", Tensor::scalar<float>(7)}}));
  std::vector<ArrayRows> arrays = value_or_raise(ArrayRows::open(*storage_, path("z"), FileFormat::kNpz));
  ASSERT_EQ(arrays.size(), 3u);
  Tensor row;
  for (ArrayRows& array : arrays) {
    ASSERT_TRUE(*array.next(row));
    if (array.name() == "s") {
      EXPECT_EQ(row.as<float>()[0], 7);
      EXPECT_EQ(array.rows(), 1);
    } else {
      ASSERT_TRUE(*array.next(row));
      if (array.name() == "n") {
        EXPECT_EQ(row.as<int64_t>()[2], 6);
      } else {
        EXPECT_EQ(row.strings()[0], "bc");
      }
    }
    EXPECT_FALSE(*array.next(row));
    EXPECT_FALSE(*array.next(row));
  }
}

TEST_F(FileFormatTest, RowsWithoutElementsAreNone) {
  ASSERT_TRUE(write_npy(*storage_, path("a"), Tensor::zeros(DType::kFloat32, {1000000000000, 0})));
  std::vector<ArrayRows> arrays = value_or_raise(ArrayRows::open(*storage_, path("a"), FileFormat::kNpy));
  EXPECT_EQ(arrays[0].shape(), (Shape{1000000000000, 0}));
  EXPECT_EQ(arrays[0].rows(), 0);
  Tensor row;
  EXPECT_FALSE(*arrays[0].next(row));
}

TEST_F(FileFormatTest, BytesBehindAnArrayAreDamage) {
  ASSERT_TRUE(write_npy(*storage_, path("a"), Tensor::of<float>({3}, {1, 2, 3})));
  std::string bytes = value_or_raise(storage_->read_all(path("a")));
  folder_.write("a", bytes + "x");
  std::vector<ArrayRows> arrays = value_or_raise(ArrayRows::open(*storage_, path("a"), FileFormat::kNpy));
  Tensor row;
  for (int i = 0; i < 3; ++i) ASSERT_TRUE(arrays[0].next(row));
  EXPECT_THAT(arrays[0].next(row).error().message(), HasSubstr(path("a") + ": the file goes on behind its array"));
  folder_.write("a", bytes.substr(0, bytes.size() - 1));
  EXPECT_THAT(ArrayRows::open(*storage_, path("a"), FileFormat::kNpy).error().message(),
              HasSubstr(path("a") + ": the file is truncated"));
}

#if __has_include(<zlib.h>)
TEST_F(FileFormatTest, BytesBehindAGzippedArrayAreRemarked) {
  ASSERT_TRUE(write_npy(*storage_, path("a"), Tensor::of<float>({2, 2}, {1, 2, 3, 4})));
  const std::string array = value_or_raise(storage_->read_all(path("a")));
  std::string by_columns = array;
  by_columns.replace(by_columns.find("False"), 6, "True ,");
  const std::string idx = "\0\0\x08\x01\0\0\0\x02xy"s;
  for (const auto& [bytes, format] :
       {std::pair(array, FileFormat::kNpy), std::pair(by_columns, FileFormat::kNpy), std::pair(idx, FileFormat::kIdx)}) {
    for (const std::string& rest : {""s, "\x1f\x8c damaged"s}) {
      folder_.write("f", stored_gzip(bytes) + rest);
      ArrayRows rows = std::move(value_or_raise(ArrayRows::open(*storage_, path("f"), format)).at(0));
      for (Tensor row; value_or_raise(rows.next(row));) {
      }
      EXPECT_EQ(rows.remark().has_value(), !rest.empty());
      EXPECT_THAT(rows.remark().value_or(path("f") + ": the last 10 bytes of the file are no gzip data"),
                  HasSubstr(path("f") + ": the last 10 bytes of the file are no gzip data"));
    }
  }
}
#endif

}  // namespace
}  // namespace shoal::data
