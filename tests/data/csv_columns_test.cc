// SPDX-License-Identifier: Apache-2.0
/// What a CSV file's columns are found to be.
#include "shoal/data/csv_columns.h"

#include <gmock/gmock.h>

#include <cmath>
#include <fstream>

#include "collecting.h"

namespace shoal::data {
namespace {

class CsvColumns : public testing::Test {
 protected:
  std::string file(const std::string& text) {
    const std::string path = folder_.path() + "/table.csv";
    std::ofstream(path) << text;
    return path;
  }
  /// "name:dtype", with "?" behind it where fields may be missing.
  std::string found(const std::string& text, const CsvOptions& options, std::vector<std::string> names = {}) {
    const auto columns = infer_csv_columns(file(text), options, {.names = std::move(names)});
    if (!columns) return std::string(to_string(columns.error().kind())) + ": " + columns.error().message();
    std::string all;
    for (const CsvColumn& column : *columns) {
      all +=
          (all.empty() ? "" : " ") + column.name + ":" + std::string(to_string(column.dtype)) + (column.missing ? "?" : "");
    }
    return all;
  }
  TemporaryFolder folder_;
};

TEST_F(CsvColumns, AreWhatAllTheirFieldsAre) {
  EXPECT_EQ(found("a,b,\"c, d\",e,f\n1,2.5,x,3,\n2,1e3,4,,7\n-3,0,\"y\"\"z\",5,8\n", {.header_lines = 1}),
            "a:int64 b:float32? c, d:string e:float32? f:float32?");
  EXPECT_EQ(found("1;?\n2;5\n", {.separator = ';', .missing_text = "?"}, {"n", "m"}), "n:int64 m:float32?");
  EXPECT_EQ(found("remark\none\n7\n\n", {.header_lines = 2}), "one:int64");
  EXPECT_EQ(found(" 1 , a \n", {.trim_blanks = true}, {"n", "t"}), "n:int64 t:string");
}

TEST_F(CsvColumns, AreNumbersWhereTheProgramSaysSo) {
  const std::string path = file("a,b,c\n1,2,x\n3,4,y\n");
  const auto columns = value_or_raise(infer_csv_columns(path, {.header_lines = 1}, {.numbers = {"b"}}));
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_EQ(columns[0].dtype, DType::kInt64);
  EXPECT_EQ(columns[1].dtype, DType::kFloat32);
  EXPECT_EQ(columns[1].missing, "nan");
  EXPECT_EQ(columns[2].dtype, DType::kString);
  const Error wrong = infer_csv_columns(path, {.header_lines = 1}, {.numbers = {"c"}}).error();
  EXPECT_EQ(wrong.kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(wrong.message(), testing::AllOf(testing::HasSubstr("line 2"), testing::HasSubstr("column c")));
  const Error missing = infer_csv_columns(path, {.header_lines = 1}, {.numbers = {"d"}}).error();
  EXPECT_EQ(missing.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(missing.message(), testing::HasSubstr("there is no column d; there are: a, b, c"));
}

TEST_F(CsvColumns, ReadTheFileThatTheyWereFoundIn) {
  CsvOptions options{.labels = {"y"}, .header_lines = 1};
  const std::string path = file("x,y,t\n1.5,3,a\n,4,b\n");
  options.columns = csv_columns(path, options);
  const auto env = make_production_environment({});
  const auto iterator = value_or_raise(Dataset::csv({path}, options).iterate(*env));
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_EQ(element.features.find("x")->as<float>()[0], 1.5f);
  EXPECT_EQ(element.labels.single().as<int64_t>()[0], 3);
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_TRUE(std::isnan(element.features.find("x")->as<float>()[0]));
}

TEST_F(CsvColumns, RefuseWhatIsNoTable) {
  using testing::HasSubstr;
  EXPECT_THAT(found("1,2\n", {}), HasSubstr("InvalidArgument: csv_columns:"));
  EXPECT_THAT(found("a,b\n", {.header_lines = 1}), HasSubstr("the file has no records"));
  EXPECT_THAT(found("", {.header_lines = 1}), HasSubstr("the file ends in its header"));
  EXPECT_THAT(found("a,b\n1,2\n1,2,3\n", {.header_lines = 1}), HasSubstr("line 3"));
  EXPECT_THAT(found("a,a\n1,2\n", {.header_lines = 1}), HasSubstr("a"));
  EXPECT_THAT(found("1,2\n", {}, {"a"}), HasSubstr("DataLoss"));
  EXPECT_EQ(infer_csv_columns(folder_.path() + "/none.csv", {.header_lines = 1}).error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace shoal::data
