// SPDX-License-Identifier: Apache-2.0
/// Quotes of CSV texts: those that make a field, the ends of records, and the errors about quotes that cannot be.
#include <gmock/gmock.h>

#include "collecting.h"
#include "csv_text.h"
#include "shoal/base/random.h"
#include "shoal/data/csv_columns.h"

namespace shoal::data {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

// A column of sizes, some of them in inches: two quotes in two rows, none of which begins a field.
const std::string kSizes = "size\n5\" nail\n6\" nail\nscrew\n\n7 mm\n";

TEST(CsvQuotes, AQuoteWithinAFieldIsAnErrorAtItsLine) {
  for (const size_t piece : {1, 5, 1000}) {
    EXPECT_EQ(
        records_of(kSizes, {}, piece),
        "[size] t.csv, line 2 (offset 6): a quote stands within field 1, which does not begin with one; put the field in "
        "quotes and double the quote in it, as in \"5\"\" nail\"; if the file knows no quoting, set quoting to false "
        "(--no-quoting)");
  }
  // The field before it has line ends of its own, so that the record began two lines above.
  EXPECT_THAT(records_of("a,\"b\nc\nd\",5\" nail,x\n", {}),
              StartsWith(" t.csv, line 3 (offset 11): a quote stands within field 3"));
  EXPECT_THAT(records_of("a, \"b\"\n", {}), HasSubstr("a quote stands behind blanks in field 2; set trim_blanks (--trim)"));
  EXPECT_THAT(records_of("\"a\"b,c\n", {}),
              StartsWith(" t.csv, line 1 (offset 3): text follows the closing quote of field 1; a quote within"));
  EXPECT_THAT(records_of("\"a\" ,b\n", {}), HasSubstr("text follows the closing quote of field 1"));
  // A quote that nobody has closed ends where the next one begins a field.
  EXPECT_THAT(
      records_of("1,\"open,5\n2,b,6\n3,\"c\",7\n", {}),
      HasSubstr("line 3 (offset 19): text follows the closing quote of field 2, which began 2 lines before (is its closing "
                "quote missing there?); a quote within"));
  EXPECT_THAT(records_of("x,\"a\" \"b\"\n", {.trim_blanks = true}), HasSubstr("text follows the closing quote of field 2"));
}

TEST(CsvQuotes, TheFirstMistakeOfARecordIsTold) {
  // A quote behind it opens no field, so that the record ends with its line.
  EXPECT_THAT(records_of("a\n5\" nail,\"x\n1,2\n", {}),
              StartsWith("[a] t.csv, line 2 (offset 3): a quote stands within field 1"));
  EXPECT_THAT(records_of("\"a\"b,\"x\n1,2\n", {}),
              HasSubstr("line 1 (offset 3): text follows the closing quote of field 1"));
  EXPECT_THAT(records_of("a\n1\r,\"x\n1,2\n", {}), HasSubstr("line 2 (offset 3): a CR without LF stands within field 1"));
}

TEST(CsvQuotes, WithoutQuotingAQuoteIsACharacter) {
  for (const size_t piece : {1, 5, 1000}) {
    EXPECT_EQ(records_of(kSizes, {.quoting = false}, piece), "[size][5\" nail][6\" nail][screw][][7 mm]");
  }
  EXPECT_EQ(records_of("\"a,b\"\n\"\"\n\"c\n", {.quoting = false}), "[\"a|b\"][\"\"][\"c]");
  EXPECT_EQ(records_of(" \"a\" ; b\n", {.separator = ';', .trim_blanks = true, .quoting = false}), "[\"a\"|b]");
}

TEST(CsvQuotes, AQuotedFieldWithoutAnEndIsNamedByItsBegin) {
  EXPECT_THAT(records_of("a,b\n1,\"x\n2,y\n3,z\n", {}),
              StartsWith("[a|b] t.csv, line 2 (offset 6): the file ends inside of the quoted field that begins here"));
  // Its record begins a line above.
  EXPECT_THAT(records_of("\"a\nb\",\"c\nd\n", {}), StartsWith(" t.csv, line 2 (offset 6): the file ends inside"));
  EXPECT_THAT(records_of("a\n\"b\n" + std::string(30, 'x') + "\n", {.line_bytes_max = 20}),
              StartsWith("[a] t.csv, line 2 (offset 2): the record is longer than 20 bytes"));
}

TEST(CsvQuotes, UnderstandsWhatRfc4180Has) {
  for (const size_t piece : {1, 2, 1000}) {
    EXPECT_EQ(records_of("\"a \"\"b\"\"\",\"\"\"\",\"\"\r\n\"x,y\",\"1\r\n2\",\"\"\"z\"\n", {}, piece),
              "[a \"b\"|\"|][x,y|1\r\n2|\"z]");
  }
  EXPECT_EQ(records_of("\t\"a\" , b \n", {.trim_blanks = true}), "[a|b]");
  EXPECT_EQ(records_of("\"a\"\t \"b\"\n", {.separator = '\t', .trim_blanks = true}), "[a|b]");
  EXPECT_EQ(records_of("\"a\"", {}), "[a]");
}

TEST(CsvQuotes, ACrThatEndsNoLineIsAnError) {
  EXPECT_THAT(records_of("a,b\n1,2\r3\n", {}), HasSubstr("line 2 (offset 7): a CR without LF stands within field 2"));
  EXPECT_THAT(records_of("a,b\n1,\"2\"\r3\n", {}), HasSubstr("a CR stands behind the closing quote of field 2"));
  EXPECT_EQ(records_of("a,b\r\n1,\"2\r3\"\r\n4,5\r", {}), "[a|b][1|2\r3][4|5]");
}

TEST(CsvQuotes, ARemarkAndABlankLineAmongTheRowsAreNamed) {
  const auto sentence = [](const std::string& text) {
    CsvReader reader(bytes_of(text), "t.csv", {.columns = {{"a"}, {"b"}}});
    Element row;
    for (;;) {
      const auto more = reader.next(row);
      if (!more) return more.error().message();
      if (!*more) return std::string();
    }
  };
  EXPECT_EQ(sentence("1,2\n# by hand\n3,4\n"),
            "t.csv, line 2 (offset 4): the record has 1 field, expected 2; if the line is a remark, take it out");
  EXPECT_THAT(sentence("1,2\n \t\n3,4\n"),
              HasSubstr("line 2 (offset 4): the record has 1 field, expected 2; the line has blanks"));
  EXPECT_EQ(sentence("1,2\n\n\r\n3,4\n"), "");
}

/// Files of an iterator tell of quotes as a reader does, and so does the search for columns.
class CsvQuotesOfFiles : public WithEnvironment {};

TEST_F(CsvQuotesOfFiles, AreThoseOfReaders) {
  const TemporaryFolder folder;
  const std::string path = folder.write("sizes.csv", kSizes);
  CsvOptions options{.header_lines = 1};
  EXPECT_THAT(infer_csv_columns(path, options).error().message(), StartsWith(path + ", line 2 (offset 6): a quote stands"));
  options.quoting = false;
  options.columns = value_or_raise(infer_csv_columns(path, options));
  const auto iterator = open(Dataset::csv({path}, options), env());
  std::vector<std::string> sizes;
  for (Element element; value_or_raise(iterator->next(element));)
    sizes.push_back(element.features.find("size")->strings()[0]);
  EXPECT_THAT(sizes, testing::ElementsAre("5\" nail", "6\" nail", "screw", "7 mm"));
  options.quoting = true;
  Element element;
  EXPECT_THAT(open(Dataset::csv({path}, options), env())->next(element).error().message(),
              HasSubstr(path + ", line 2 (offset 6): a quote stands"));
  const Dataset quoted = Dataset::csv({path}, options);
  options.quoting = false;
  EXPECT_NE(quoted.fingerprint(), Dataset::csv({path}, options).fingerprint());
}

/// A text that csv_field() and csv_record() wrote is read as it was, whatever is in it.
TEST(CsvQuotes, AreThoseThatAreWritten) {
  RandomStream stream(45);
  const std::string letters = "a1,\"\n\r;\t ";
  for (int round = 0; round < 3000; ++round) {
    const char separator = ",;\t "[stream.below(4)];
    const size_t columns = 1 + stream.below(3);
    std::string text, expected;
    for (uint64_t rows = 1 + stream.below(3); rows > 0; --rows) {
      std::vector<std::string> fields;
      for (size_t i = 0; i < columns; ++i) {
        std::string field;
        for (uint64_t size = stream.below(4); size > 0; --size) field.push_back(letters[stream.below(letters.size())]);
        expected += (i == 0 ? "[" : "|") + field;
        fields.push_back(csv_field(field, separator));
      }
      expected += "]";
      text += csv_record(fields, separator) + (stream.below(2) ? "\n" : "\r\n");
    }
    ASSERT_EQ(records_of(text, {.separator = separator}, 1 + stream.below(5)), expected) << round << ": " << text;
  }
}

}  // namespace
}  // namespace shoal::data
