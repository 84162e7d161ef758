// SPDX-License-Identifier: Apache-2.0
// Files that are compressed by gzip, zstd and lz4, by the programs of those names.
#include <gmock/gmock.h>

#include "byte_source.h"
#include "collecting.h"
#include "other_programs.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

struct Program {
  const char* name;
  const char* options = "";
  friend void PrintTo(const Program& program, std::ostream* out) { *out << program.name << program.options; }
};

class CompressedFiles : public ::testing::TestWithParam<Program> {
 protected:
  void SetUp() override {
    if (!is_installed(GetParam().name)) GTEST_SKIP() << GetParam().name << " is not installed: it makes the files";
  }
  /// `contents` as the program writes them, in a file whose name says nothing.
  std::string compressed(const std::string& contents) {
    const std::string plain = folder_ / "plain", path = folder_ / "packed";
    write_file(plain, contents);
    output_of(std::string(GetParam().name) + " -c " + GetParam().options + " < " + plain + " > " + path + " 2>/dev/null");
    return path;
  }
  /// All bytes, read `piece` at a time, or the error.
  std::string read(const std::string& path, size_t piece = 1000) {
    const auto storage = make_file_storage();
    auto source = open_bytes(*storage, path);
    if (!source) return source.error().message();
    std::string all;
    for (;;) {
      const uint64_t promised = (*source)->left_max();
      std::string some(piece, '\0');
      const Result<size_t> count = (*source)->read(std::as_writable_bytes(std::span(some)));
      if (!count) return count.error().message();
      EXPECT_LE(*count, promised);
      all += some.substr(0, *count);
      if (*count < piece) return all;
    }
  }
  static std::string numbers(int count) {
    std::string text;
    for (int i = 0; i < count; ++i) text += std::to_string(int64_t(i) * 2654435761 % 1000003) + "\n";
    return text;
  }
  TemporaryFolder folder_;
};

TEST_P(CompressedFiles, HaveTheBytesThatTheProgramWasGiven) {
  for (const std::string& contents : {std::string(), std::string("x"), numbers(200'000), std::string(30'000'000, 'a')}) {
    const std::string path = compressed(contents);
    EXPECT_EQ(read(path) == contents, true) << contents.size();
    EXPECT_EQ(read(path, 5'000'000) == contents, true) << contents.size();
  }
}

TEST_P(CompressedFiles, AreReadAsLinesAndRecords) {
  const std::string lines = compressed("one\ntwo\n");
  std::string read_lines;
  for (const Element& element : Dataset::text_lines({lines}).elements()) {
    read_lines += element.features.single().strings()[0] + ";";
  }
  EXPECT_EQ(read_lines, "one;two;");
  TfRecordWriter writer = value_or_raise(TfRecordWriter::create(folder_ / "records"));
  value_or_raise(writer.append("a record"));
  value_or_raise(writer.finish());
  for (const Element& element : Dataset::tf_records({compressed(contents_of(folder_ / "records"))}).elements()) {
    EXPECT_EQ(element.features.single().strings()[0], "a record");
  }
}

TEST_P(CompressedFiles, OfSeveralPartsAreOne) {
  const std::string one = contents_of(compressed("one ")), two = contents_of(compressed(numbers(50'000)));
  write_file(folder_ / "both", one + two);
  EXPECT_EQ(read(folder_ / "both"), "one " + numbers(50'000));
}

TEST_P(CompressedFiles, AreToldToBeTruncatedOrDamaged) {
  const std::string path = compressed(numbers(20'000)), whole = contents_of(path);
  // pzstd begins with a skippable frame: cut within that, a file says nothing of its compression.
  for (const size_t size : {size_t(30), whole.size() / 2, whole.size() - 1}) {
    write_file(path, whole.substr(0, size));
    EXPECT_THAT(read(path), AllOf(HasSubstr(path), HasSubstr("truncated"), HasSubstr("byte " + std::to_string(size))));
  }
  int found = 0;
  for (size_t at = 8; at < whole.size(); at += whole.size() / 50) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x55);
    write_file(path, damaged);
    const std::string got = read(path);
    if (got == numbers(20'000)) continue;  // A bit without a meaning, such as one of a time.
    EXPECT_THAT(got, AllOf(HasSubstr(path), HasSubstr("byte"))) << at;
    ++found;
  }
  EXPECT_GT(found, 40);
}

/// A short rest could be the beginning of another frame as well, and the library would wait for more.
TEST_P(CompressedFiles, SayThatSomethingElseFollows) {
  if (GetParam().name == std::string("gzip")) return;  // Passed over with a warning, as gzip does.
  const std::string path = compressed(numbers(20'000)), whole = contents_of(path);
  const std::string name = GetParam().name == std::string("lz4") ? "lz4" : "zstd", size = std::to_string(whole.size());
  for (const std::string& rest :
       {std::string("x"), std::string("junk\n"), std::string(7, '\0'), std::string(300'000, 'y')}) {
    write_file(path, whole + rest);
    EXPECT_EQ(read(path), path + ": its " + name + " data ends at byte " + size + ", and the " +
                              std::to_string(rest.size()) + " bytes behind it are no " + name +
                              " data: something was added to the file, or it is damaged there; if it was whole before, cut "
                              "it with truncate -s " +
                              size);
    const auto ended = raised([&] {
      for (const Element& line : Dataset::text_lines({path}).elements()) (void)line;
    });
    EXPECT_EQ(ended->kind(), ErrorKind::kDataLoss);
  }
  for (const size_t begun : {1, 3}) {  // The first bytes of another part.
    write_file(path, whole + whole.substr(0, begun));
    EXPECT_THAT(read(path), HasSubstr("the file is truncated"));
  }
}

TEST(ZstdFiles, OfADictionaryAreRefusedWithWhatToDo) {
  if (!is_installed("zstd")) GTEST_SKIP() << "zstd is not installed: it makes the file";
  TemporaryFolder folder;
  std::string texts;
  for (int i = 0; i < 2000; ++i) {
    write_file(folder / "t" + std::to_string(i), "row " + std::to_string(i * 7919 % 10007) + " of the table of oaks\n");
    texts += " " + (folder / "t" + std::to_string(i));
  }
  output_of("zstd -q --train" + texts + " -o " + (folder / "dictionary") + " 2>/dev/null");
  output_of("zstd -q -D " + (folder / "dictionary") + " -c < " + (folder / "t7") + " > " + (folder / "packed"));
  const auto refused = raised([&] {
    for (const Element& line : Dataset::text_lines({folder / "packed"}).elements()) (void)line;
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(refused->message(),
              HasSubstr((folder / "packed") + ": its zstd data was made with a dictionary, and none can "
                                              "be given here; unpack the file with zstd -d -D DICTIONARY"));
}

/// The header has the number 1 for the dictionary, and the block copies 4 bytes from before its own beginning.
TEST(Lz4Files, OfADictionaryAreRefusedWithWhatToDo) {
  if (!is_installed("lz4")) GTEST_SKIP() << "lz4 is not installed, so that the library may be missing, too";
  TemporaryFolder folder;
  constexpr char kFrame[] =
      "\x04\x22\x4d\x18\x61\x40\x01\0\0\0\xd0"  // Magic, descriptor, number of the dictionary, checksum.
      "\x09\0\0\0\0\x04\0\x50"                  // A block of 9 bytes: a match 4 bytes back, then 5 bytes.
      "abcde\0\0\0";                            // The literal's own zero is the last byte of the end mark.
  write_file(folder / "packed", std::string(kFrame, sizeof(kFrame)));
  const auto refused = raised([&] {
    for (const Element& line : Dataset::text_lines({folder / "packed"}).elements()) (void)line;
  });
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(refused->message(), HasSubstr((folder / "packed") + ": its lz4 data was made with a dictionary"));
}

/// Such a file is whole, but no program unpacks it unasked.
TEST_P(CompressedFiles, OfATooLargeWindowAreRefusedWithWhatToDo) {
  if (GetParam().name != std::string("zstd")) return;
  write_file(folder_ / "plain", numbers(1000));
  output_of("zstd -c --long=28 < " + (folder_ / "plain") + " > " + (folder_ / "packed"));
  EXPECT_THAT(read(folder_ / "packed"), AllOf(HasSubstr(folder_ / "packed"), HasSubstr("--long=27 at most")));
}

INSTANTIATE_TEST_SUITE_P(Programs, CompressedFiles,
                         ::testing::Values(Program{"gzip"}, Program{"zstd"}, Program{"zstd", " -19 --long=25"},
                                           Program{"pzstd"}, Program{"lz4", " -q"}, Program{"lz4", " -9 -B4 -BD -q"},
                                           Program{"lz4", " -B7 --content-size -q"}),
                         [](const auto& parameter) { return parameter.param.name + std::to_string(parameter.index); });

}  // namespace
}  // namespace shoal::data
