/// CSV text, record after record.
#include "shoal/data/csv_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <fstream>

#include "../base/temporary_folder.h"

namespace shoal::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

/// Gives `text` in pieces of `piece_bytes`, as a pipe may.
ReadBytes bytes_of(std::string text, size_t piece_bytes) {
  return [text = std::move(text), piece_bytes, at = size_t(0)](std::span<std::byte> out) mutable -> Result<size_t> {
    const size_t count = std::min({piece_bytes, text.size() - at, out.size()});
    std::memcpy(out.data(), text.data() + at, count);
    at += count;
    return count;
  };
}

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

TEST(CsvReader, LeavesOutAByteOrderMark) {
  CsvReader header(bytes_of("\xEF\xBB\xBF"
                            "a,b\n",
                            2),
                   "a pipe", {});
  EXPECT_THAT(value_or_raise(header.fields()), ElementsAre("a", "b"));
  CsvReader records(bytes_of("\xEF\xBB\xBF"
                             "7\n",
                             1),
                    "a pipe", {.columns = {{"n", DType::kInt64}}});
  Element row;
  ASSERT_TRUE(value_or_raise(records.next(row)));
  EXPECT_EQ(row.features.find("n")->as<int64_t>()[0], 7);
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

TEST(CsvReader, ReadsAFile) {
  const TemporaryFolder folder;
  const auto storage = make_file_storage();
  std::ofstream(folder / "t.csv") << "a;b\n1;x\n";
  CsvReader reader = value_or_raise(CsvReader::open(*storage, folder / "t.csv", {.separator = ';'}));
  EXPECT_THAT(value_or_raise(reader.fields()), ElementsAre("a", "b"));
  EXPECT_EQ(CsvReader::open(*storage, folder / "none.csv", {}).error().kind(), ErrorKind::kNotFound);
}

}  // namespace
}  // namespace shoal::data
