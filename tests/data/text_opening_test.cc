// SPDX-License-Identifier: Apache-2.0
/// How texts are opened, whoever reads them: byte order marks, gzip, and files that are no text.
#include <gmock/gmock.h>

#include "collecting.h"
#include "csv_text.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/text_files.h"

#if __has_include(<zlib.h>)
#include <zlib.h>
#define SHOAL_TEST_ZLIB 1
#endif

namespace shoal::data {
namespace {

using namespace std::string_literals;
using testing::HasSubstr;

const std::string kByteMark = "\xEF\xBB\xBF";

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
  const std::string bytes = kByteMark + "50,elm,no\n89,oak,yes\n";
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
  EXPECT_EQ(lines(kByteMark + "elm\noak\n"), "[elm][oak]");
  EXPECT_EQ(text(kByteMark + "elm\noak\n"), "elm\noak\n");
  for (const size_t piece : {1, 2, 3, 1000}) {
    EXPECT_EQ(records_of(kByteMark + "\"a\",b\n1,2\n", {}, piece), "[a|b][1|2]");
    EXPECT_EQ(records_of(kByteMark + kByteMark + "a\n" + kByteMark + "b\n", {}, piece),
              "[" + kByteMark + "a][" + kByteMark + "b]");
    EXPECT_EQ(records_of(kByteMark, {}, piece), "");
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

#if defined(SHOAL_TEST_ZLIB)
/// `contents` as one gzip member. `fields`: with a name, a comment, an extra field and a checksum in its header.
std::string gzip_member(const std::string& contents, bool fields = false) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  gz_header header{};
  std::string name = "table.csv", comment = "made by hand", extra = "xtra";
  header.name = reinterpret_cast<Bytef*>(name.data());
  header.comment = reinterpret_cast<Bytef*>(comment.data());
  header.extra = reinterpret_cast<Bytef*>(extra.data());
  header.extra_len = uInt(extra.size());
  header.hcrc = 1;
  if (fields) {
    EXPECT_EQ(deflateSetHeader(&stream, &header), Z_OK);
  }
  std::string bytes(contents.size() + 200, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));  // zlib only reads these bytes.
  stream.avail_in = uInt(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = uInt(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(bytes.size() - stream.avail_out);
  deflateEnd(&stream);
  return bytes;
}

TEST_F(TextOpening, TakesGzipAsGzipDoes) {
  const std::string one = gzip_member("one\n"), two = gzip_member("two\n", true), empty = gzip_member("");
  EXPECT_EQ(lines(one + two + empty + one), "[one][two][one]");
  EXPECT_EQ(lines(empty), "");
  EXPECT_EQ(lines(gzip_member(kByteMark + "one\n")), "[one]");
  // Zeros fill up the block of a tape, also where one reading of the file ends within it.
  EXPECT_EQ(lines(one + std::string(512, '\0')), "[one]");
  EXPECT_EQ(lines(one + std::string(1 << 17, '\0') + two), "[one][two]");
  for (size_t zeros = (1 << 16) - 60; zeros < (1 << 16); ++zeros) {
    ASSERT_EQ(lines(one + std::string(zeros, '\0') + two), "[one][two]") << zeros;
  }
  for (const std::string& rest : {"garbage"s, "\x1f"s, "\x1fgarbage"s, "\0\0\x1f"s, "\0g"s}) {
    EXPECT_EQ(lines(one + rest), "[one]") << rest;
  }
  std::vector<std::string> warnings;
  const auto told = make_production_environment({.sink = [&](const LogRecord& of) { warnings.emplace_back(of.message); }});
  for (const std::string& rest : {"garbage"s, std::string(512, '\0')}) {
    const Dataset dataset = Dataset::text_lines({folder_.write("t.gz", one + rest)}).repeat(3);
    const auto iterator = value_or_raise(dataset.iterate(*told));
    for (Element element; value_or_raise(iterator->next(element));) {
    }
  }
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("t.gz: the last 7 bytes of the file are no gzip data")));
  EXPECT_THAT(lines(one + two.substr(0, two.size() - 4)), HasSubstr("the file is truncated"));
  EXPECT_THAT(lines(one + two.substr(0, 2)), HasSubstr("the file is truncated"));
  EXPECT_THAT(lines(one.substr(0, 2)), HasSubstr("the file is truncated"));
  std::string damaged = one;
  damaged[damaged.size() - 8] ^= 1;  // A byte of the checksum.
  EXPECT_THAT(lines(damaged), HasSubstr("the gzip data is damaged"));
  // A whole text has no place for a warning.
  EXPECT_EQ(text(one + two + std::string(512, '\0')), "one\ntwo\n");
  EXPECT_THAT(text(one + "garbage"), HasSubstr("t.txt: the last 7 bytes of the file are no gzip data"));
  // A file that was compressed twice is named once the first layer is off.
  EXPECT_THAT(lines(gzip_member(one)), HasSubstr("is compressed with gzip, which is undone once"));
  EXPECT_THAT(lines(gzip_member("PK\x03\x04\x14")), HasSubstr("is a zip archive"));
}

TEST_F(TextOpening, ColumnsOfATableWithBytesBehindGzipAreFoundWithAWarning) {
  std::vector<std::string> warnings;
  const std::shared_ptr<Environment> told =
      make_production_environment({.sink = [&](const LogRecord& of) { warnings.emplace_back(of.message); }});
  const std::string path = folder_.write("t.gz", gzip_member("wood,age\noak,3\n") + "damaged");
  ASSERT_TRUE(infer_csv_columns(path, {.header_lines = 1}, {.env = told}));
  EXPECT_THAT(warnings, testing::ElementsAre(HasSubstr("t.gz: the last 7 bytes of the file are no gzip data")));
}
#endif

}  // namespace
}  // namespace shoal::data
