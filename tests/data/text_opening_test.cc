/// How texts are opened, whoever reads them: byte order marks, gzip, and files that are no text.
#include <gmock/gmock.h>

#include "collecting.h"
#include "csv_text.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/text_files.h"

namespace shoal::data {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

const std::string kMark = "\xEF\xBB\xBF";

class TextOpening : public WithEnvironment {
 protected:
  /// The lines of a file, each between brackets; or the error behind them.
  std::string lines(const std::string& bytes) {
    path_ = folder_.write("t.txt", bytes);
    const auto iterator = open(Dataset::text_lines({path_}), env());
    std::string all;
    for (Element element;;) {
      const auto more = iterator->next(element);
      if (!more) return all + more.error().message();
      if (!*more) return all;
      all += "[" + element.features.single().strings()[0] + "]";
    }
  }
  std::string text(const std::string& bytes) {
    path_ = folder_.write("t.txt", bytes);
    const auto read = read_text(*storage_, path_);
    return read ? *read : read.error().message();
  }
  const std::unique_ptr<Storage> storage_ = make_file_storage();
  TemporaryFolder folder_;
  std::string path_;
};

TEST_F(TextOpening, PassesOverAByteOrderMark) {
  // A table without a header: the mark would be part of its first number, or of a word that is then another for ever.
  const std::string bytes = kMark + "50,elm,no\n89,oak,yes\n";
  const std::string path = folder_.write("t.csv", bytes);
  CsvOptions options;
  options.columns = value_or_raise(infer_csv_columns(path, options, {.names = {"height", "wood", "label"}}));
  EXPECT_EQ(options.columns[0].dtype, DType::kInt64);
  const auto iterator = open(Dataset::csv({path}, options), env());
  Element element;
  ASSERT_TRUE(value_or_raise(iterator->next(element)));
  EXPECT_EQ(element.features.find("height")->as<int64_t>()[0], 50);
  const Position position = value_or_raise(iterator->save());
  const auto other = open(Dataset::csv({path}, options), env());
  ASSERT_TRUE(other->restore(position));
  ASSERT_TRUE(value_or_raise(other->next(element)));
  EXPECT_EQ(element.features.find("height")->as<int64_t>()[0], 89);
  EXPECT_EQ(lines(kMark + "elm\noak\n"), "[elm][oak]");
  EXPECT_EQ(text(kMark + "elm\noak\n"), "elm\noak\n");
  for (const size_t piece : {1, 2, 3, 1000}) {
    EXPECT_EQ(records_of(kMark + "\"a\",b\n1,2\n", {}, piece), "[a|b][1|2]");
    EXPECT_EQ(records_of(kMark + kMark + "a\n" + kMark + "b\n", {}, piece), "[" + kMark + "a][" + kMark + "b]");
    EXPECT_EQ(records_of(kMark, {}, piece), "");
    EXPECT_EQ(records_of("\xEF\xBB", {}, piece), "[\xEF\xBB]");
  }
}

TEST_F(TextOpening, AnswersARecordThatIsShorterThanAMark) {
  int calls = 0;
  CsvReader reader(
      [&calls](std::span<std::byte> out) -> Result<size_t> {
        if (++calls > 1) return unavailable("nobody may wait for more");
        out[0] = std::byte('7'), out[1] = std::byte('\n');
        return 2;
      },
      "a pipe", {});
  EXPECT_THAT(value_or_raise(reader.fields()), testing::ElementsAre("7"));
}

TEST_F(TextOpening, NamesWhatIsNoText) {
  for (const bool whole : {false, true}) {
    const auto of = [&](const std::string& bytes) { return whole ? text(bytes) : lines(bytes); };
    EXPECT_THAT(of("a\0b\0\n\0c\0\n\0"s),
                HasSubstr("is text in UTF-16; write it as UTF-8, for example with iconv -f UTF-16LE"));
    EXPECT_THAT(of("\0\0\0a\0\0\0\n"s), HasSubstr("iconv -f UTF-32BE"));
    EXPECT_THAT(of("elm\roak\rpine\r"), HasSubstr("has lines that end with CR alone"));
    EXPECT_THAT(of("\xfd"
                   "7zXZ\0\0\x04"s),
                HasSubstr("is compressed with xz"));
  }
  EXPECT_EQ(lines("10%\r20%\r100%\ndone\n"), "[10%\r20%\r100%][done]");  // A log of a program that shows its progress.
}

TEST_F(TextOpening, RefusesATextOverTheLimit) {
  const std::string path = folder_.write("t.txt", std::string(100, 'x'));
  EXPECT_EQ(read_text(*storage_, path, 100)->size(), 100u);
  EXPECT_EQ(read_text(*storage_, path, 99).error().message(), path + ": the text has more than 99 bytes");
  EXPECT_EQ(read_text(*storage_, path + "x").error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace shoal::data
