// SPDX-License-Identifier: Apache-2.0
/// Columns are found by the names in a file's header.
#include <gmock/gmock.h>

#include <algorithm>
#include <ctime>
#include <fstream>

#include "collecting.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class CsvHeader : public WithEnvironment {
 protected:
  std::string file(const std::string& name, const std::string& text) { return folder_.write(name, text); }
  /// "height 100 width 5 |sold 1": features and, behind the bar, labels of each row.
  std::vector<std::string> rows(const std::vector<std::string>& paths, const CsvOptions& options) {
    auto iterator = open(Dataset::csv(paths, options), env());
    std::vector<std::string> rows;
    for (Element element;;) {
      const Result<bool> more = iterator->next(element);
      if (!more) rows.push_back(std::string(to_string(more.error().kind())) + ": " + more.error().message());
      if (!more || !*more) return rows;
      rows.push_back(text_of(element.features) + "|" + text_of(element.labels));
    }
  }
  static std::string text_of(const TensorMap& map) {
    std::string text;
    for (const auto& [name, tensor] : map) {
      text += (name.empty() ? "label" : name) + " ";
      text += (tensor.dtype() == DType::kString    ? tensor.strings()[0]
               : tensor.dtype() == DType::kFloat32 ? std::to_string(int(tensor.as<float>()[0]))
                                                   : std::to_string(tensor.as<int64_t>()[0])) +
              " ";
    }
    return text;
  }
  CsvOptions table_of(const std::string& path) {
    CsvOptions table{.labels = {"sold"}, .header_lines = 1};
    table.columns = csv_columns(path, table, {.numbers = {"height", "width"}});
    return table;
  }
  std::string only_error(const std::vector<std::string>& rows) { return rows.size() == 1 ? rows[0] : "no error"; }

  TemporaryFolder folder_;
  const std::string january_ = file("jan.csv", "height,width,sold\n100,5,1\n110,6,0\n");
};

TEST_F(CsvHeader, OfEachFileSaysWhereItsColumnsAre) {
  const std::string february =
                        file("feb.csv", "\xEF\xBB\xBFwidth,height,sold\n7,120,1\n8,130,0\n"),  // With a byte order mark.
      march = file("mar.csv", "\"sold\",more,\"width\",height\n1,x,9,140\n");
  EXPECT_THAT(
      rows({january_, february, march}, table_of(january_)),
      testing::ElementsAre("height 100 width 5 |label 1 ", "height 110 width 6 |label 0 ", "height 120 width 7 |label 1 ",
                           "height 130 width 8 |label 0 ", "height 140 width 9 |label 1 "));
}

TEST_F(CsvHeader, IsRefusedWithBothListsWhereAColumnIsMissing) {
  const std::string other = file("feb.csv", "width,Height,sold\n7,120,1\n");
  EXPECT_EQ(
      only_error(rows({other}, table_of(january_))),
      "InvalidArgument: input element 0: " + other +
          ", line 1 (offset 0): the header lacks column height; did you mean Height?; the columns are: height, width, "
          "sold; and the header of this file is: width, Height, sold");
  const std::string shorter = file("mar.csv", "sold\n1\n");
  EXPECT_THAT(only_error(rows({shorter}, table_of(january_))), HasSubstr("the header lacks 2 columns: height, width;"));
}

TEST_F(CsvHeader, WithOtherNamesIsRefusedUnlessPositionsCount) {
  const std::string other = file("feb.csv", "hoch,breit,verkauft\n120,7,1\n");
  CsvOptions table = table_of(january_);
  EXPECT_THAT(only_error(rows({other}, table)),
              AllOf(HasSubstr("the header has other names than the columns; the columns are: height, width, sold; and the "
                              "header of this file is: hoch, breit, verkauft"),
                    HasSubstr("by_position")));
  table.by_position = true;
  EXPECT_THAT(rows({other}, table), testing::ElementsAre("height 120 width 7 |label 1 "));
}

TEST_F(CsvHeader, MayBeARemark) {
  const CsvOptions table = table_of(january_);
  for (const char* line : {"made on a Monday", "# height, width, sold as measured", "# 5\" pipes", "|a,b,c", "a,b"}) {
    const std::string path = file("remark.csv", std::string(line) + "\n120,7,1\n");
    EXPECT_THAT(rows({path}, table), testing::ElementsAre("height 120 width 7 |label 1 ")) << line;
  }
}

TEST_F(CsvHeader, MayHaveOtherNamesThanTheProgram) {
  const std::string feet = file("feet.csv", "feet,inches,sold\n1,2,3\n"),
                    turned = file("turned.csv", "sold,inches,feet\n3,2,1\n");
  CsvOptions table{.labels = {"y"}, .header_lines = 1};
  table.columns = csv_columns(feet, table, {.names = {"height", "width", "y"}});
  EXPECT_EQ(table.columns[0].header, "feet");
  EXPECT_THAT(rows({feet, turned}, table),
              testing::ElementsAre("height 1 width 2 |label 3 ", "height 1 width 2 |label 3 "));
  // Names that stand over other columns there are no new names.
  const auto crossed = infer_csv_columns(feet, table, {.names = {"inches", "feet", "y"}});
  EXPECT_THAT(
      crossed.error().message(),
      AllOf(HasSubstr("the names that are given are: inches, feet, y; and the header of this file is: feet, inches, sold"),
            HasSubstr("line 1")));
  table.by_position = true;
  EXPECT_TRUE(infer_csv_columns(feet, table, {.names = {"inches", "feet", "y"}}));
}

TEST_F(CsvHeader, NamesThatNobodyUsesMayBeDoubledOrEmpty) {
  const std::string path = file("doubled.csv", ",height,x,x,width,sold\n0,100,a,b,5,1\n");
  CsvOptions table = table_of(path);
  EXPECT_THAT(rows({path}, table),
              testing::ElementsAre("label 0 height 100 width 5 |label 1 "));  // A feature without a name.
  table.unused = {"x", ""};
  EXPECT_THAT(
      rows({path, january_}, table),
      testing::ElementsAre("height 100 width 5 |label 1 ", "height 100 width 5 |label 1 ", "height 110 width 6 |label 0 "));
  const std::string none = file("none.csv", ",,height,width,sold\n0,1,100,5,1\n");
  EXPECT_THAT(rows({none}, table_of(none)), testing::ElementsAre("height 100 width 5 |label 1 "));
}

TEST_F(CsvHeader, NamesThatAreUsedMayNotBeDoubled) {
  const std::string path = file("doubled.csv", "height,width,width,sold,sold\n100,5,6,1,2\n");
  const auto numbers = infer_csv_columns(path, {.header_lines = 1}, {.numbers = {"width"}});
  EXPECT_THAT(numbers.error().message(), HasSubstr("column width, one of the numbers, is in the header more than once"));
  CsvOptions table{.labels = {"sold"}, .header_lines = 1};
  table.columns = csv_columns(path, table);
  const auto label = raised([&] { Dataset::csv({path}, table); });
  ASSERT_TRUE(label);
  EXPECT_EQ(label->message(), "csv: column sold, a label, is in the header more than once; rename all but one there");
  const std::string later = file("later.csv", "sold,height,height,width\n1,100,110,5\n");
  EXPECT_THAT(only_error(rows({later}, table_of(january_))),
              HasSubstr("column height is there twice, so that nobody can tell which of the two is meant"));
}

TEST_F(CsvHeader, IsReadAgainWhereAnIteratorGoesOn) {
  const std::string february = file("feb.csv", "width,height,sold\n7,120,1\n8,130,0\n");
  const Dataset dataset = Dataset::csv({january_, february}, table_of(january_));
  for (size_t at = 0; at <= 4; ++at) {
    auto iterator = open(dataset, env());
    Element element;
    for (size_t i = 0; i < at; ++i) ASSERT_TRUE(value_or_raise(iterator->next(element)));
    auto other = open(dataset, env());
    ASSERT_TRUE(other->restore(value_or_raise(iterator->save())));
    for (size_t i = at; i < 4; ++i) {
      ASSERT_TRUE(value_or_raise(other->next(element)));
      EXPECT_EQ(element.features["height"].as<float>()[0], float(100 + 10 * i));
    }
    EXPECT_FALSE(value_or_raise(other->next(element)));
  }
}

TEST_F(CsvHeader, CountsForReadersOfOneFile) {
  const auto storage = make_file_storage();
  const CsvOptions table = table_of(january_);
  const std::string turned = file("feb.csv", "width,height,sold\n7,120,1\n");
  CsvReader reader = value_or_raise(CsvReader::open(*storage, turned, table));
  Element row;
  ASSERT_TRUE(value_or_raise(reader.next(row)));
  EXPECT_EQ(row.features["height"].as<float>()[0], 120.f);
  const std::string other = file("mar.csv", "width,sold\n7,1\n");
  EXPECT_THAT(value_or_raise(CsvReader::open(*storage, other, table)).next(row).error().message(),
              HasSubstr("the header lacks column height"));
}

/// Names that other programs have trouble with are names like others.
TEST_F(CsvHeader, MayHaveAnyNames) {
  const std::vector<std::string> names{
      "a b", "a/b", "a,b", "a\"b", "a\nb", "A", "a", "../x", " c ", "bias", std::string(5000, 'l'), "\xC3\xB6"};
  std::vector<std::string> fields, turned, numbers;
  for (size_t i = 0; i < names.size(); ++i) {
    fields.push_back(csv_field(names[i]));
    numbers.push_back(std::to_string(i));
  }
  const std::string straight = file("names.csv", csv_record(fields) + "\n" + csv_record(numbers) + "\n");
  std::reverse(fields.begin(), fields.end());
  std::reverse(numbers.begin(), numbers.end());
  const std::string back = file("back.csv", csv_record(fields) + "\n" + csv_record(numbers) + "\n");
  CsvOptions table{.header_lines = 1};
  table.columns = csv_columns(straight, table);
  for (const std::string& path : {straight, back}) {
    auto iterator = open(Dataset::csv({path}, table), env());
    Element element;
    ASSERT_TRUE(value_or_raise(iterator->next(element)));
    for (size_t i = 0; i < names.size(); ++i) EXPECT_EQ(element.features[names[i]].as<int64_t>()[0], int64_t(i));
  }
}

/// What is looked for in lists takes more than half a minute at 50,000 columns, and what is looked up takes half a second.
TEST_F(CsvHeader, OfManyColumnsTakesTimeByTheirNumber) {
  constexpr int kColumns = 50000;
  std::string header, record, turned, back;
  for (int i = 0; i < kColumns; ++i) {
    header += "c" + std::to_string(i) + ",";
    turned += "c" + std::to_string(kColumns - 1 - i) + ",";
    record += std::to_string(i) + ",";
    back += std::to_string(kColumns - 1 - i) + ",";
  }
  const std::string path = file("wide.csv", header + "y\n" + record + "1\n" + record + "0\n"),
                    other = file("other.csv", "y," + turned + "z\n1," + back + "0\n");
  const std::clock_t begin = std::clock();
  CsvOptions table{.labels = {"y"}, .unused = {"c7"}, .header_lines = 1};
  table.columns = csv_columns(path, table, {.numbers = {"c1", "c2"}});
  auto iterator = open(Dataset::csv({path, other}, table).batch(3), env());
  Element batch;
  ASSERT_TRUE(value_or_raise(iterator->next(batch)));
  EXPECT_LT(double(std::clock() - begin) / CLOCKS_PER_SEC, 10);
  EXPECT_EQ(batch.features.size(), size_t(kColumns - 1));
  for (const int64_t value : batch.features["c49999"].as<int64_t>()) EXPECT_EQ(value, 49999);
}

}  // namespace
}  // namespace shoal::data
