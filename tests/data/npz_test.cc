// SPDX-License-Identifier: Apache-2.0
// NPZ files, and the zip archives that they are, against NumPy and Python's zipfile.
#include <gmock/gmock.h>

#include "arrays_text.h"
#include "collecting.h"
#include "crc32.h"
#include "other_programs.h"
#include "shoal/base/memory_storage.h"
#include "shoal/data/array_rows.h"
#include "shoal/data/npy.h"
#include "zip_reader.h"
#include "zip_writer.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Crc32, IsThatOfTheStandard) {
  const auto crc = [](std::string_view text, uint32_t before = 0) {
    return crc32_of(std::as_bytes(std::span(text)), before);
  };
  EXPECT_EQ(crc(""), 0U);
  EXPECT_EQ(crc("123456789"), 0xcbf43926U);
  const std::string text = "The quick brown fox jumps over the lazy dog";  // A published value.
  EXPECT_EQ(crc(text), 0x414fa339U);
  for (size_t at = 0; at <= text.size(); ++at) EXPECT_EQ(crc(text.substr(at), crc(text.substr(0, at))), 0x414fa339U);
}

class NpzFiles : public ::testing::Test {
 protected:
  Result<TensorMap> read(const std::string& contents, const NpyOptions& options = {}) {
    value_or_raise(memory_->write_atomically("a.npz", contents));
    return read_npz(*memory_, "a.npz", options);
  }
  Error error_of(const std::string& contents, const NpyOptions& options = {}) {
    const Result<TensorMap> tensors = read(contents, options);
    EXPECT_FALSE(tensors) << array_text(*tensors);
    if (tensors) return internal_error("no error");
    EXPECT_THAT(tensors.error().message(), StartsWith("a.npz"));
    return tensors.error();
  }
  std::string written(const TensorMap& tensors) {
    value_or_raise(write_npz(*storage_, folder_ / "b.npz", tensors));
    return folder_ / "b.npz";
  }
  /// An archive of members as they stand.
  std::string zip_of(const std::vector<std::pair<std::string, std::string>>& members, ZipWriterOptions options = {}) {
    const auto file = value_or_raise(storage_->create(folder_ / "c.zip"));
    ZipWriter writer(*file, options);
    for (const auto& [name, bytes] : members) {
      const auto write = [&bytes = bytes](const ZipWriter::Sink& sink) { return sink(std::as_bytes(std::span(bytes))); };
      value_or_raise(writer.add(name, bytes.size(), write));
    }
    value_or_raise(writer.finish());
    value_or_raise(file->close());
    return contents_of(folder_ / "c.zip");
  }
  /// The archive that a Python program writes as the variable `z` of zipfile.
  std::string zip_by_python(const std::string& program) {
    write_file(folder_ / "script.py",
               "import zipfile, sys, warnings\nwarnings.simplefilter('ignore')\nz = zipfile.ZipFile('" +
                   (folder_ / "p.zip") + "', 'w')\n" + program + "\nz.close()\n");
    EXPECT_EQ(output_of("/usr/bin/python3 -B " + (folder_ / "script.py") + " 2>&1"), "");
    return contents_of(folder_ / "p.zip");
  }
  TemporaryFolder folder_;
  const std::unique_ptr<Storage> storage_ = make_file_storage(), memory_ = make_memory_storage();
  const std::string array_ = npy_of("|u1", "(3,)", "abc");
};

TEST_F(NpzFiles, OfNumPyAreRead) {
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy writes the files";
  const auto expected = named_lines(output_of(python("numpy_arrays.py") + "savez " + (folder_ / "")));
  ASSERT_GT(expected.size(), 50U);
  for (const char* name : {"all.npz", "packed.npz"}) {
    const Result<TensorMap> tensors = read_npz(*storage_, folder_ / name);
    ASSERT_TRUE(tensors) << tensors.error().message();
    EXPECT_EQ(tensors->size(), expected.size());
    for (const auto& [key, text] : expected) EXPECT_TRUE(array_text((*tensors)[key]) == text) << name << " " << key;
  }
}

TEST_F(NpzFiles, OfShoalAreReadByNumPy) {
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy reads the files";
  const TensorMap tensors{{"x", Tensor::of<float>({2, 2}, {1, 2, 3, 4})},
                          {"tr\u00fc\u00dfe", Tensor::of_strings({2}, {"\u65e5", ""})},
                          {"a/b.npy", Tensor::scalar(int64_t(-5))},
                          {"", Tensor::of<uint8_t>({1}, {7})}};
  const std::string path = written(tensors), first = contents_of(path);
  EXPECT_EQ(output_of(python("numpy_arrays.py") + "read " + path), array_text(tensors));
  EXPECT_EQ(array_text(value_or_raise(read_npz(*storage_, path))), array_text(tensors));
  EXPECT_EQ(contents_of(written(tensors)), first) << "equal tensors give equal files";
  EXPECT_EQ(output_of("/usr/bin/python3 -c \"import zipfile; z = zipfile.ZipFile('" + path +
                      "'); print(z.testzip(), {i.date_time for i in z.infolist()})\""),
            "None {(1980, 1, 1, 0, 0, 0)}\n");
  EXPECT_EQ(output_of(python("numpy_arrays.py") + "read " + written({})), "");
  EXPECT_TRUE(value_or_raise(read_npz(*storage_, written({}))).empty());
}

TEST_F(NpzFiles, WhatNumPyCannotReadIsNotWritten) {
  const Tensor one = Tensor::scalar(1.0f);
  for (const std::string& name : {std::string("a\0b", 3), std::string("\xff"), std::string(65532, 'x')}) {
    EXPECT_EQ(write_npz(*storage_, folder_ / "d.npz", {{name, one}}).error().kind(), ErrorKind::kInvalidArgument);
  }
  EXPECT_THAT(write_npz(*storage_, folder_ / "d.npz", {{"x", one}, {"x.npy", one}}).error().message(),
              HasSubstr("with and without \".npy\""));
  EXPECT_THAT(write_npz(*storage_, folder_ / "d.npz", {{"x", Tensor(DType::kBFloat16, {})}}).error().message(),
              AllOf(StartsWith(folder_ / "d.npz"), HasSubstr("array \"x\": NumPy has no bfloat16")));
  EXPECT_FALSE(storage_->exists(folder_ / "d.npz"));
}

TEST_F(NpzFiles, OfZip64AreReadAndWritten) {
  const std::vector<std::pair<std::string, std::string>> members{{"x.npy", array_}, {"y.npy", npy_of("|u1", "(1,)", "z")}};
  const ZipWriterOptions cases[] = {{.zip64_from = 1}, {.zip64_from = 75}, {.zip64_members_from = 2}, {}};
  for (const ZipWriterOptions& options : cases) {
    const std::string archive = zip_of(members, options);
    EXPECT_EQ(array_text(value_or_raise(read(archive))), "x\tuint8 [3] 97 98 99\ny\tuint8 [1] 122\n");
    if (!python_has("numpy")) continue;
    EXPECT_EQ(output_of(python("numpy_arrays.py") + "read " + (folder_ / "c.zip")),
              "x\tuint8 [3] 97 98 99\ny\tuint8 [1] 122\n");
  }
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy reads the files";
  // More members than the directory counts without zip64.
  std::vector<std::pair<std::string, std::string>> many;
  for (int i = 0; i < 65'600; ++i) many.emplace_back(std::to_string(i) + ".npy", npy_of("|u1", "()", "x"));
  EXPECT_EQ(value_or_raise(read(zip_of(many))).size(), 65'600U);
  EXPECT_EQ(output_of("/usr/bin/python3 -c \"import numpy; print(len(numpy.load('" + (folder_ / "c.zip") + "').files))\""),
            "65600\n");
}

/// The files have holes, which take no room on the disk.
TEST_F(NpzFiles, BeyondFourGiBAreRead) {
  const std::string program = folder_ / "script.py", path = folder_ / "p.zip",
                    header = npy_of("|u1", "(5120, 1048576)", "");
  const auto written = [&](const std::string& members) {
    write_file(folder_ / "x.npy", array_);
    write_file(folder_ / "huge.npy", header);
    write_file(program, "import zipfile\nf = open('" + path + "', 'wb')\narray = open('" + (folder_ / "x.npy") +
                            "', 'rb').read()\nheader = open('" + (folder_ / "huge.npy") + "', 'rb').read()\n" + members +
                            "\nz.close()\nf.close()\n");
    EXPECT_EQ(output_of("/usr/bin/python3 -B " + program + " 2>&1"), "");
  };
  // The member and the directory begin beyond 4 GiB.
  written("f.seek((5 << 30) + 7)\nz = zipfile.ZipFile(f, 'w')\nz.writestr('x.npy', array)");
  const Result<TensorMap> far = read_npz(*storage_, path);
  ASSERT_TRUE(far) << far.error().message();
  EXPECT_EQ(array_text(*far), "x\tuint8 [3] 97 98 99\n");
  // The first member has 5 GiB of zeros, for which the script writes only the headers.
  written(
      "z = zipfile.ZipFile(f, 'w')\ninfo = zipfile.ZipInfo('huge.npy')\ninfo.CRC = info.header_offset = 0\n"
      "info.file_size = info.compress_size = len(header) + (5 << 30)\nf.write(info.FileHeader(zip64=True))\n"
      "f.write(header)\nf.seek(5 << 30, 1)\nz.filelist.append(info)\nz.start_dir = f.tell()\n"
      "z.writestr('x.npy', array)");
  const auto arrays = ArrayRows::open(*storage_, path, FileFormat::kNpz);
  ASSERT_TRUE(arrays) << arrays.error().message();
  ASSERT_EQ(arrays->size(), 2U);
  EXPECT_EQ((*arrays)[0].shape(), (Shape{5120, 1 << 20}));
  EXPECT_EQ((*arrays)[1].shape(), (Shape{3}));
  const Error limited = read_npz(*storage_, path).error();
  EXPECT_EQ(limited.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(limited.message(), HasSubstr("takes 5368709120 bytes, which is over the limit of 4294967296"));
}

TEST_F(NpzFiles, OfOtherProgramsAreReadWhereTheyAreArrays) {
  write_file(folder_ / "x.npy", array_);
  const std::string x = "open('" + (folder_ / "x.npy") + "', 'rb').read()";
  const auto text = [&](const std::string& program) { return array_text(value_or_raise(read(zip_by_python(program)))); };
  const std::string expected = "x\tuint8 [3] 97 98 99\n";
  EXPECT_EQ(text("z.writestr('x.npy', " + x + "); z.comment = b'PK' + bytes([5, 6]) + bytes(3000)"), expected);
  EXPECT_EQ(text("f = z.open('x.npy', 'w', force_zip64=True); f.write(" + x + "); f.close()"), expected);
  // To a pipe: sizes stand behind the bytes.
  EXPECT_EQ(
      text("class Pipe:\n  def __init__(s, f): s.f = f\n  def write(s, b): return s.f.write(b)\n  def flush(s): pass\n"
           "z.close()\nf = open('" +
           (folder_ / "p.zip") +
           "', 'wb')\n"
           "z = zipfile.ZipFile(Pipe(f), 'w', zipfile.ZIP_DEFLATED)\nz.writestr('x.npy', " +
           x + ")"),
      expected);
  const auto error = [&](const std::string& program) { return error_of(zip_by_python(program)); };
  EXPECT_THAT(error("z.writestr('x.txt', b'x')").message(),
              HasSubstr("member x.txt (offset 0): the member is no array by its name"));
  EXPECT_THAT(error("z.writestr('x.npy', " + x + "); z.writestr('x.npy', " + x + ")").message(),
              HasSubstr("two members with the name x.npy"));
  EXPECT_EQ(error("z.writestr('x.npy', " + x + ", compress_type=zipfile.ZIP_BZIP2)").kind(),
            ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error("z.writestr('x.npy', " + x + ", compress_type=zipfile.ZIP_LZMA)").message(),
              HasSubstr("method 14 of zip"));
  EXPECT_THAT(error("z.writestr('x.npy', b'no array')").message(), HasSubstr("member x.npy (offset 0): not an NPY file"));
  EXPECT_EQ(error_of(array_).kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(error_of(array_).message(), HasSubstr("read_npy"));
  EXPECT_EQ(error_of("").kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(error_of("\x1f\x8b\x08").kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(read_npz(*storage_, folder_ / "none").error().kind(), ErrorKind::kNotFound);
}

TEST_F(NpzFiles, OfWhichMembersAreEncryptedOrOverlapAreRefused) {
  const std::string whole = zip_of({{"x.npy", array_}, {"y.npy", array_}});
  const size_t directory = whole.find("PK\1\2"), second = whole.find("PK\1\2", directory + 1);
  const auto changed = [&](size_t at, char to) {
    std::string archive = whole;
    archive[at] = to;
    return error_of(archive);
  };
  EXPECT_EQ(changed(directory + 8, 1).kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(changed(directory + 8, 1).message(), HasSubstr("member x.npy (offset 0): the member is encrypted"));
  EXPECT_THAT(changed(second + 42, 0).message(), HasSubstr("overlaps"));
  EXPECT_THAT(changed(second + 42, 5).message(), HasSubstr("overlaps"));
  EXPECT_THAT(changed(directory + 24, 5).message(), HasSubstr("is said to have 5 bytes in"));
  EXPECT_THAT(changed(whole.size() - 2, 1).message(), HasSubstr("no end of a directory"));
  EXPECT_EQ(changed(whole.size() - 18, 1).kind(), ErrorKind::kFailedPrecondition) << "several parts";
  EXPECT_THAT(changed(whole.size() - 12, 3).message(), HasSubstr("several parts"));
}

TEST_F(NpzFiles, CutOrDamagedAnywhereAreErrorsOrTheSame) {
  const std::string other = npy_of("<f4", "(2,)", "12345678");
  std::vector<std::string> archives{zip_of({{"x.npy", array_}, {"y.npy", other}}),
                                    zip_of({{"x.npy", array_}, {"y.npy", other}}, {.zip64_from = 1})};
  write_file(folder_ / "x.npy", array_);
  write_file(folder_ / "long.npy", npy_of("|u1", "(2000,)", std::string(2000, 'x')));
  archives.push_back(zip_by_python("z.write('" + (folder_ / "x.npy") + "', 'x.npy', zipfile.ZIP_DEFLATED)\nz.write('" +
                                   (folder_ / "long.npy") + "', 'long.npy', zipfile.ZIP_DEFLATED)"));
  for (const std::string& whole : archives) {
    const std::string right = array_text(value_or_raise(read(whole)));
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_EQ(error_of(whole.substr(0, size)).kind(), ErrorKind::kDataLoss) << size;
    EXPECT_EQ(error_of(whole + "x").kind(), ErrorKind::kDataLoss);
    EXPECT_EQ(error_of("x" + whole).kind(), ErrorKind::kDataLoss);
    for (size_t at = 0; at < whole.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit) {
        std::string damaged = whole;
        damaged[at] = char(damaged[at] ^ (1 << bit));
        const Result<TensorMap> tensors = read(damaged);
        if (tensors) {
          EXPECT_EQ(array_text(*tensors), right) << at << " " << bit;
        } else {
          EXPECT_THAT(tensors.error().message(), StartsWith("a.npz")) << at;
        }
      }
    }
  }
}

TEST_F(NpzFiles, LimitsAreForAllTensorsTogether) {
  const std::string archive =
      zip_of({{"x.npy", npy_of("<f4", "(2,)", "12345678")}, {"y.npy", npy_of("<f4", "(1,)", "1234")}});
  EXPECT_TRUE(read(archive, {.bytes_max = 12}));
  const Error error = error_of(archive, {.bytes_max = 11});
  EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(error.message(), HasSubstr("member y.npy"));
  const StopSource source;
  source.request_stop();
  EXPECT_EQ(read(archive, {.stop = source.token()}).error().kind(), ErrorKind::kCancelled);
}

}  // namespace
}  // namespace shoal::data
