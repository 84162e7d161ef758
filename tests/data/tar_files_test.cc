// SPDX-License-Identifier: Apache-2.0
// Tar archives that Python's tarfile writes and reads.
#include <gmock/gmock.h>

#include <filesystem>

#include "collecting.h"
#include "other_programs.h"
#include "tar_blocks.h"
#include "tar_header.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

/// Samples as tar_archives.py prints them.
std::string text_of(const Element& element) {
  const TensorMap& features = element.features;
  std::string text = features["__key__"].strings()[0] + "\n";
  for (const auto& [name, tensor] : features) {
    if (name == "__key__") continue;
    const std::string& contents = tensor.strings()[0];
    text += name + " " + std::to_string(contents.size()) + "\n" + contents;
  }
  return text;
}

class TarFiles : public ::testing::Test {
 protected:
  std::string text_of(const Dataset& dataset) {
    std::string text;
    for (const Element& element : dataset.elements()) text += data::text_of(element);
    return text;
  }
  /// An archive that Python's tarfile makes.
  std::string theirs(const std::string& format) {
    const std::string path = folder_ / format;
    EXPECT_EQ(output_of(script_ + "write " + path + " " + format + " 2>&1"), "");
    return path;
  }
  std::string ours(const std::vector<std::pair<std::string, std::string>>& files) {
    const std::string path = folder_ / "ours.tar";
    TarWriter writer = value_or_raise(TarWriter::create(path));
    for (const auto& [name, contents] : files) value_or_raise(writer.append(name, contents));
    value_or_raise(writer.finish());
    return path;
  }
  const std::string script_ = python("tar_archives.py");
  TemporaryFolder folder_;
};

TEST_F(TarFiles, OfAnotherProgramAreRead) {
  if (!python_has("tarfile")) GTEST_SKIP() << "python3 is not installed: it makes the archives";
  for (const char* format : {"ustar", "gnu", "pax"}) {
    SCOPED_TRACE(format);
    const std::string path = theirs(format);
    const std::string expected = output_of(script_ + "samples " + path);
    EXPECT_GT(expected.size(), 70000U);
    EXPECT_EQ(text_of(Dataset::tar_samples({path})), expected);
    EXPECT_EQ(text_of(Dataset::tar_samples({path, path})), expected + expected);
    EXPECT_EQ(text_of(Dataset::tar_samples({path}, {.extensions = {"txt", "seg.png"}})),
              output_of(script_ + "samples " + path + " txt seg.png"));
  }
}

TEST_F(TarFiles, OfGnuTarAreRead) {
  if (!python_has("tarfile") || !is_installed("tar")) GTEST_SKIP() << "python3 or tar is not installed";
  folder_.write("d/a.jpg", "1");
  folder_.write("d/" + std::string(150, 'n') + ".txt", "22");
  folder_.write("d/" + std::string(60, 'p') + "/" + std::string(90, 'q') + ".txt", "333");
  for (const std::string format : {"v7", "oldgnu", "gnu", "ustar", "posix"}) {
    SCOPED_TRACE(format);
    const std::string path = folder_ / format;
    const std::string which = format == "v7" || format == "ustar" ? " --exclude '*nnnn*'" : "";
    const std::string without = format == "v7" ? " --exclude '*pppp*'" : "";
    output_of("cd " + folder_.path() + " && tar -c -f " + path + " --sort=name --format=" + format + which + without +
              " d");
    const std::string expected = output_of(script_ + "samples " + path);
    EXPECT_THAT(expected, HasSubstr("d/a\njpg 1\n1"));
    EXPECT_EQ(text_of(Dataset::tar_samples({path})), expected);
  }
}

TEST_F(TarFiles, MayBeCompressed) {
  if (!python_has("tarfile")) GTEST_SKIP() << "python3 is not installed: it makes the archives";
  const std::string path = theirs("pax"), packed = folder_ / "packed";
  const std::string expected = output_of(script_ + "samples " + path);
  for (const char* program : {"gzip", "zstd", "lz4"}) {
    if (!is_installed(program)) continue;
    output_of(std::string(program) + " -c < " + path + " > " + packed);
    try {
      EXPECT_EQ(text_of(Dataset::tar_samples({packed})), expected) << program;
    } catch (const Exception& exception) {
      EXPECT_THAT(exception.what(), HasSubstr("this build is without it")) << program;
    }
  }
}

TEST_F(TarFiles, OursAreReadByTheOtherProgram) {
  if (!python_has("tarfile")) GTEST_SKIP() << "python3 is not installed: it reads the archives";
  const std::string long_name = std::string(40, 'l') + "/" + std::string(300, 'm') + ".txt";
  const std::string two_parts = std::string(150, 'p') + "/" + std::string(90, 'q') + ".txt";
  const std::string root = "/" + std::string(99, 'r') + ".t", letters = "\xc3\xa4 \xe6\xbc\xa2.txt";
  const std::string big(100'000, 'b');
  const std::string path = ours({{"a.txt", "1"},
                                 {"a.jpg", ""},
                                 {two_parts, std::string(512, 'x')},
                                 {long_name, std::string(513, 'y')},
                                 {root, "22"},
                                 {letters, "333"},
                                 {"big.bin", big}});
  const std::string rest = " 644 0 0 0\n";
  EXPECT_EQ(output_of(script_ + "list " + path), "a.txt 1" + rest + "1" + "a.jpg 0" + rest + two_parts + " 512" + rest +
                                                     std::string(512, 'x') + long_name + " 513" + rest +
                                                     std::string(513, 'y') + root + " 2" + rest + "22" + letters + " 3" +
                                                     rest + "333" + "big.bin 100000" + rest + big);
  EXPECT_EQ(text_of(Dataset::tar_samples({path})), output_of(script_ + "samples " + path));
  const std::string bytes = contents_of(path);
  ours({{"a.txt", "1"}});
  EXPECT_EQ(contents_of(path), tar_entry("a.txt", "1").substr(0, 100) + contents_of(path).substr(100, 924) + tar_end())
      << "one header, one block of contents, and the end";
  EXPECT_EQ(bytes.substr(0, 1024), contents_of(path).substr(0, 1024)) << "equal files make equal bytes";
}

TEST_F(TarFiles, TheWriterRefusesNamesThatAreNone) {
  TarWriter writer = value_or_raise(TarWriter::create(folder_ / "a"));
  for (const std::string& name : {std::string(), std::string("a\0b", 3), std::string("folder/"), std::string(65537, 'x')}) {
    EXPECT_EQ(writer.append(name, "").error().kind(), ErrorKind::kInvalidArgument);
  }
  EXPECT_EQ(TarWriter::create(folder_ / "no/folder").error().kind(), ErrorKind::kNotFound);
}

/// 9 GiB of a hole. What is not read costs nothing: neither here nor with Python.
TEST_F(TarFiles, OfMoreThan8GiBArePassedOver) {
  const uint64_t bytes = uint64_t(9) << 30;
  const std::string path = folder_ / "large.tar";
  write_file(path, encode_tar_header("a.bin", bytes));
  std::error_code error;
  std::filesystem::resize_file(path, std::filesystem::file_size(path) + bytes, error);
  if (error) GTEST_SKIP() << "no files of 9 GiB with holes here: " << error.message();
  std::ofstream(path, std::ios::binary | std::ios::app)
      << encode_tar_header("a.txt", 0) << encode_tar_header("b.txt", 0) << tar_end();
  EXPECT_EQ(text_of(Dataset::tar_samples({path}, {.extensions = {"txt"}})), "a\ntxt 0\nb\ntxt 0\n");
  EXPECT_EQ(text_of(Dataset::tar_samples({path}).skip(1)), "b\ntxt 0\n");
  EXPECT_EQ(text_of(Dataset::tar_samples({path}).shard(2, 1)), "b\ntxt 0\n");
  EXPECT_THAT(
      raised([&] { text_of(Dataset::tar_samples({path})); })->message(),
      HasSubstr("large.tar, entry 1 (offset 0): \"a.bin\" has 9663676416 bytes, more than member_bytes_max, 268435456"));
  if (!python_has("tarfile")) GTEST_SKIP() << "python3 is not installed: it reads the archive";
  EXPECT_EQ(output_of(script_ + "list " + path), "a.bin 9663676416 644 0 0 0\na.txt 0 644 0 0 0\nb.txt 0 644 0 0 0\n");
}

}  // namespace
}  // namespace shoal::data
