// SPDX-License-Identifier: Apache-2.0
/// Numbers in CSV fields, about which csv_columns() and the reading by its columns agree.
#include <gmock/gmock.h>

#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <sstream>

#include "collecting.h"
#include "csv_number.h"
#include "csv_text.h"
#include "other_programs.h"
#include "shoal/base/cpu.h"
#include "shoal/base/random.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/csv_reader.h"

namespace shoal::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(CsvNumbers, AreRoundedToTheNearestFloat32) {
  EXPECT_EQ(field_number<float>("1e400"), kInfinity);
  EXPECT_EQ(field_number<float>("-1e400"), -kInfinity);
  EXPECT_EQ(field_number<float>("3.5e38"), kInfinity);
  EXPECT_EQ(field_number<float>("1" + std::string(400, '0')), kInfinity);
  EXPECT_EQ(field_number<float>("1e99999999999999999999"), kInfinity);
  EXPECT_EQ(field_number<float>("0." + std::string(50, '0') + "1e100"), kInfinity);
  EXPECT_EQ(field_number<float>("0." + std::string(50, '0') + "1e51"), 1.0f);
  EXPECT_EQ(field_number<float>("1e-46"), 0.0f);
  EXPECT_EQ(field_number<float>("1e-59"), 0.0f);
  EXPECT_EQ(field_number<float>("1e-99999999999999999999"), 0.0f);
  EXPECT_EQ(field_number<float>("0." + std::string(400, '0') + "1"), 0.0f);
  EXPECT_TRUE(std::signbit(*field_number<float>("-1e-59")));
  EXPECT_EQ(field_number<float>("1e-45"), std::numeric_limits<float>::denorm_min());
  EXPECT_EQ(field_number<float>("0e999"), 0.0f);
  EXPECT_EQ(field_number<float>("+1"), 1.0f);
  EXPECT_EQ(field_number<float>("INF"), kInfinity);
  EXPECT_EQ(field_number<float>("-infinity"), -kInfinity);
  EXPECT_TRUE(std::isnan(*field_number<float>("NaN")));
  for (const char* none : {"", "+", "-", "+-1", "--1", "1e", "nan(1)", "0x1F", "1,5", "1 2", "e5", "."}) {
    EXPECT_FALSE(field_number<float>(none)) << none;
    EXPECT_FALSE(field_number<int64_t>(none)) << none;
  }
}

/// The digits decide: a double does not tell 2^53 from 2^53 + 1, and has no room for small fractions beside large numbers.
TEST(CsvNumbers, AreWholeByTheirDigits) {
  const ComputeMode mode;  // In it, doubles below 2^-1022 count as 0.
  const std::vector<std::pair<const char*, int64_t>> whole = {{"9007199254740993e0", 9007199254740993},
                                                              {"900719925474099.3e1", 9007199254740993},
                                                              {"9.007199254740993e15", 9007199254740993},
                                                              {"-9.007199254740993E+15", -9007199254740993},
                                                              {"9007199254740993.000", 9007199254740993},
                                                              {"90071992547409930e-1", 9007199254740993},
                                                              {"9.223372036854775807e18", INT64_MAX},
                                                              {"-9.223372036854775808e18", INT64_MIN},
                                                              {"0.000007e6", 7},
                                                              {".7e1", 7},
                                                              {"-7.", -7},
                                                              {"-.0", 0},
                                                              {"0e999999999999999999999", 0},
                                                              {"0.0e-999999999999999999999", 0},
                                                              {"1e0018", 1000000000000000000}};
  for (const auto& [text, number] : whole) EXPECT_EQ(field_number<int64_t>(text), number) << text;
  for (const char* fraction : {"9007199254740992.5", "4503599627370496.3", "4.9e-324", "1e-310", "1e-400", "7e-1",
                               "0.00000001", "1e-999999999999999999999", "123456789012345678901234567890.5"}) {
    EXPECT_EQ(field_number<int64_t>(fraction), std::nullopt) << fraction;
    EXPECT_TRUE(has_fraction(fraction)) << fraction;
  }
  for (const char* beyond : {"9223372036854775808e0", "9.223372036854775808e18", "-9.223372036854775809e18", "1e19",
                             "1e400", "1e999999999999999999999"}) {
    EXPECT_EQ(field_number<int64_t>(beyond), std::nullopt) << beyond;
    EXPECT_FALSE(has_fraction(beyond)) << beyond;
  }
  EXPECT_EQ(field_number<int32_t>("2147483647e0"), INT32_MAX);
  EXPECT_EQ(field_number<int32_t>("-2147483648.0"), INT32_MIN);
  EXPECT_EQ(field_number<int32_t>("2147483648e0"), std::nullopt);
  for (const char* none : {"1e", "1e+", "1e+-5", "e5", ".e5", "-", "-.", "1.5.2", "1e5.5", "--1e5", "-+1e5", "1 e5"}) {
    EXPECT_EQ(field_number<int64_t>(none), std::nullopt) << none;
    EXPECT_FALSE(has_fraction(none)) << none;
  }
}

TEST(CsvNumbers, AreWholeWherePythonsDecimalSaysSo) {
  RandomStream random(RandomKey{53});
  std::vector<std::string> texts;
  for (int i = 0; i < 20'000; ++i) {
    // A number near an edge, or any digits, with the point moved and the exponent that undoes it, or nearly so.
    const uint64_t edges[] = {uint64_t(1) << 53, uint64_t(1) << 63, uint64_t(1) << 31, 0, random.next_u64()};
    std::string digits = std::to_string(edges[random.below(5)] + random.below(5) - (i % 2));
    if (random.below(4) == 0) digits += std::string(random.below(30), '0');
    if (random.below(4) == 0) digits.insert(0, std::string(random.below(30), '0'));
    const size_t moved = random.below(digits.size() + 1);
    const int64_t exponent = int64_t(moved) + (random.below(4) == 0 ? int64_t(random.below(7)) - 3 : 0);
    std::string text = random.below(3) == 0 ? "-" : "";
    text += digits.substr(0, digits.size() - moved) + "." + digits.substr(digits.size() - moved);
    if (exponent != 0 || random.below(2) == 0) text += "e" + std::to_string(exponent);
    texts.push_back(text);
  }
  const TemporaryFolder folder;
  std::string lines;
  for (const std::string& text : texts) lines += text + "\n";
  const std::string answers = output_of(python("whole_numbers.py") + folder.write("texts", lines) + " 2>&1");
  std::istringstream expected(answers);
  std::map<std::string, int> seen;
  for (const std::string& text : texts) {
    std::string answer;
    ASSERT_TRUE(std::getline(expected, answer)) << text;
    const auto number = field_number<int64_t>(text);
    const std::string ours = number ? std::to_string(*number) : has_fraction(text) ? "fraction" : "beyond";
    ASSERT_EQ(ours, answer) << text;
    ++seen[number ? "whole" : ours];
  }
  for (const char* kind : {"whole", "fraction", "beyond"}) EXPECT_GT(seen[kind], 1000) << kind;
}

TEST(CsvNumbers, KnowWhichWholeNumbersFloat32Changes) {
  for (const char* exact :
       {"0", "-16777216", "16777216", "016777216", "20000000", "18446744073709551616", "1.5", "x", ""}) {
    EXPECT_FALSE(is_changed_by_float32(exact)) << exact;
  }
  for (const char* changed : {"16777217", "-16777217", "+123456789", "9223372036854788153", "99999999999999999999"}) {
    EXPECT_TRUE(is_changed_by_float32(changed)) << changed;
  }
  EXPECT_TRUE(is_changed_by_float32("1" + std::string(60, '0')));
}

/// Field "x" of the records of a table with this one column, read in one pass or, where quotes are around it, the general way.
std::vector<float> column_of(const std::vector<std::string>& texts, const std::string& quote) {
  std::string table;
  for (const std::string& text : texts) table += quote + text + quote + "\n";
  CsvReader reader(bytes_of(table), "t.csv", {.columns = {{.name = "x", .dtype = DType::kFloat32}}});
  std::vector<float> numbers;
  for (Element element; value_or_raise(reader.next(element));) numbers.push_back(element.features["x"].as<float>()[0]);
  return numbers;
}

TEST(CsvNumbers, AreTheSameBitsInOnePassAndTheGeneralWay) {
  std::vector<std::string> texts = {"0",         "-0",           "-0.0",        "16777216",    "16777217",    "1677721.6",
                                    "1677721.7", "0.0000001",    "0.00000001",  "1.",          "1e5",         "1.5E-3",
                                    "00012.500", "4294967296.5", "42949672960", "-99999999.9", "3.4028236e38"};
  RandomStream random(RandomKey{5});
  for (int i = 0; i < 20'000; ++i) {
    std::string text = random.below(2) == 0 ? "-" : "";
    for (uint64_t digits = 1 + random.below(9); digits > 0; --digits) text += char('0' + random.below(10));
    if (random.below(4) > 0) text += ".";
    for (uint64_t digits = random.below(10); digits > 0 && text.find('.') != std::string::npos; --digits) {
      text += char('0' + random.below(10));
    }
    texts.push_back(text);
  }
  const std::vector<float> plain = column_of(texts, ""), general = column_of(texts, "\"");
  ASSERT_EQ(plain.size(), texts.size());
  ASSERT_EQ(general.size(), texts.size());
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(std::bit_cast<uint32_t>(plain[i]), std::bit_cast<uint32_t>(*field_number<float>(texts[i]))) << texts[i];
    ASSERT_EQ(std::bit_cast<uint32_t>(general[i]), std::bit_cast<uint32_t>(plain[i])) << texts[i];
  }
}

class CsvNumbersOfFiles : public testing::Test {
 protected:
  /// "name:dtype" for each column.
  std::string found(const std::string& text, CsvColumnsOptions how = {}, const CsvOptions& options = {.header_lines = 1}) {
    warnings_.clear();
    how.env = env_;
    const auto columns = infer_csv_columns(folder_.write("t.csv", text), options, how);
    if (!columns) return columns.error().message();
    std::string all;
    for (const CsvColumn& column : *columns) all += column.name + ":" + std::string(to_string(column.dtype)) + " ";
    return all;
  }
  /// Field `name` of all rows, read by the columns that are found.
  std::vector<float> numbers(const std::string& text, const std::string& name) {
    CsvOptions options{.header_lines = 1};
    const std::string path = folder_.write("t.csv", text);
    options.columns = value_or_raise(infer_csv_columns(path, options, {.env = env_}));
    const auto iterator = value_or_raise(Dataset::csv({path}, options).iterate(*env_));
    std::vector<float> all;
    for (Element element; value_or_raise(iterator->next(element));) {
      all.push_back(element.features.find(name)->as<float>()[0]);
    }
    return all;
  }
  std::vector<std::string> warnings_;
  const std::shared_ptr<Environment> env_ = make_production_environment({.sink = [this](const LogRecord& record) {
    if (record.level == LogLevel::kWarning) warnings_.emplace_back(record.message);
  }});
  TemporaryFolder folder_;
};

TEST_F(CsvNumbersOfFiles, OutOfRangeAreNoWords) {
  const std::string tiny = "p,wood\n6e-30,elm\n1e-37,oak\n9e-39,elm\n4e-45,elm\n2e-46,oak\n6e-59,oak\n1e400,elm\n";
  EXPECT_EQ(found(tiny), "p:float32 wood:string ");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0],
              AllOf(HasSubstr("t.csv, line 8 (offset"), HasSubstr("column p has 1e400, which is beyond float32")));
  EXPECT_THAT(numbers(tiny, "p"), testing::ElementsAre(6e-30f, 1e-37f, 9e-39f, 4e-45f, 0.0f, 0.0f, kInfinity));
  found(tiny, {.numbers = {"p"}});
  EXPECT_THAT(warnings_, IsEmpty());
}

TEST_F(CsvNumbersOfFiles, WholeNumbersThatFloat32DoesNotHoldAreTold) {
  // Beyond 2^63, and with a gap: neither int64 nor, without a loss, float32.
  const std::string ids = "id,height\n9223372036854788153,50\n9223372036854788154,89\n,67\n9223372036854788156,80\n";
  EXPECT_EQ(found(ids), "id:float32 height:int64 ");
  ASSERT_EQ(warnings_.size(), 1u);
  EXPECT_THAT(warnings_[0], AllOf(HasSubstr("t.csv, line 2 (offset 10): column id has 9223372036854788153, a whole number"),
                                  HasSubstr("if these are ids, name the column in `texts`")));
  EXPECT_EQ(found(ids, {.texts = {"id"}}), "id:string height:int64 ");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(found(ids, {.numbers = {"id"}}), "id:float32 height:int64 ");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(found(ids, {}, {.unused = {"id"}, .header_lines = 1}), "id:float32 height:int64 ");
  EXPECT_THAT(warnings_, IsEmpty());
  // All there, and within int64: kept apart as they are.
  EXPECT_EQ(found("id\n9007199254740993\n9007199254740992\n"), "id:int64 ");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_EQ(found("n\n16777216\n\n1.5\n"), "n:float32 ");
  EXPECT_THAT(warnings_, IsEmpty());
  EXPECT_THAT(found(ids, {.numbers = {"id"}, .texts = {"id"}}), HasSubstr("column id is in `numbers` and in `texts`"));
  EXPECT_THAT(found(ids, {.texts = {"ids"}}), HasSubstr("there is no column ids"));
}

TEST_F(CsvNumbersOfFiles, BlanksAndAPlusDoNotMakeWords) {
  EXPECT_EQ(found("a,b,c\n 1,+1.5, x\n\t-2 ,+3,y \n"), "a:int64 b:float32 c:string ");
  EXPECT_EQ(found("a,b\n1, \n2,3\n"), "a:int64 b:float32 ");
  EXPECT_TRUE(std::isnan(numbers("a,b\n1, \n2,3\n", "b")[0]));
  EXPECT_EQ(found("a\n1\n ?\n", {}, {.header_lines = 1, .missing_text = "?"}), "a:float32 ");
  EXPECT_EQ(found("a\n70.0\n71.0\n"), "a:float32 ");  // Where a fraction is written, another file may have one.
}

/// Whatever the fields are: the types that are found in a file are types that it can be read by, and that hold the same
/// numbers.
TEST_F(CsvNumbersOfFiles, WhatIsFoundIsRead) {
  RandomStream stream(46);
  const std::vector<std::string> atoms{"",
                                       " ",
                                       "1",
                                       "-1",
                                       "+1",
                                       "+-1",
                                       "007",
                                       "70.0",
                                       "7e1",
                                       "1e400",
                                       "-1e400",
                                       "1e-400",
                                       "1.5",
                                       ".5",
                                       "5.",
                                       "1e",
                                       "inf",
                                       "-INF",
                                       "nan",
                                       "NaN",
                                       "+nan",
                                       "0x1F",
                                       "1,234",
                                       "50,5",
                                       "1 234",
                                       " 12 ",
                                       "\t3",
                                       "12%",
                                       "True",
                                       "16777217",
                                       "2147483648",
                                       "?",
                                       " ? ",
                                       "x",
                                       "nan(1)",
                                       "infinity",
                                       "1e5",
                                       "9223372036854775807",
                                       "-9223372036854775808",
                                       "9223372036854775808",
                                       "1_000",
                                       "\"",
                                       "a\nb",
                                       "e",
                                       "+",
                                       "-",
                                       "1\r\n",
                                       "\xC2\xA0"
                                       "1"};
  int read_as[16] = {};
  for (int round = 0; round < 1000; ++round) {
    const size_t columns = 1 + stream.below(3), rows = 1 + stream.below(4);
    std::vector<std::vector<std::string>> of(columns);  // Each column draws from a few atoms: some are then of one type.
    for (auto& some : of) {
      for (uint64_t i = 1 + stream.below(3); i > 0; --i) some.push_back(atoms[stream.below(atoms.size())]);
    }
    std::string text;
    for (size_t row = 0; row < rows; ++row) {
      std::vector<std::string> fields;
      for (const auto& some : of) {
        fields.push_back(csv_field(some[stream.below(some.size())]));
        if (columns == 1 && fields.back().empty()) fields.back() = "\"\"";
      }
      text += csv_record(fields) + "\n";
    }
    CsvOptions options{.missing_text = stream.below(2) ? "?" : "", .trim_blanks = stream.below(2) == 1};
    std::vector<std::string> names{"a", "b", "c"};
    names.resize(columns);
    const std::string path = folder_.write("t.csv", text);
    const auto found = infer_csv_columns(path, options, {.names = names, .env = env_});
    ASSERT_TRUE(found) << found.error().message() << "\n" << text;
    options.columns = *found;
    const auto iterator = value_or_raise(Dataset::csv({path}, options).iterate(*env_));
    size_t count = 0;
    for (Element element;; ++count) {
      const auto more = iterator->next(element);
      ASSERT_TRUE(more) << round << ": " << more.error().message() << "\n" << text;
      if (!*more) break;
    }
    EXPECT_EQ(count, rows) << text;
    for (const CsvColumn& column : *found) ++read_as[int(column.dtype)];
  }
  for (const DType dtype : {DType::kInt64, DType::kFloat32, DType::kString}) EXPECT_GT(read_as[int(dtype)], 30);
}

}  // namespace
}  // namespace shoal::data
