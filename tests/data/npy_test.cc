// SPDX-License-Identifier: Apache-2.0
// NPY files, against those that NumPy writes and reads.
#include "shoal/data/npy.h"

#include <gmock/gmock.h>

#include "arrays_text.h"
#include "collecting.h"
#include "other_programs.h"
#include "shoal/base/memory_storage.h"

namespace shoal::data {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

class NpyFiles : public ::testing::Test {
 protected:
  Result<Tensor> read(const std::string& contents, const NpyOptions& options = {}) {
    value_or_raise(memory_->write_atomically("a.npy", contents));
    return read_npy(*memory_, "a.npy", options);
  }
  /// The error for such a file, which has to name it.
  Error error_of(const std::string& contents, const NpyOptions& options = {}) {
    const Result<Tensor> tensor = read(contents, options);
    EXPECT_FALSE(tensor) << array_text(*tensor);
    if (tensor) return internal_error("no error");
    EXPECT_THAT(tensor.error().message(), StartsWith("a.npy"));
    return tensor.error();
  }
  std::string written(const Tensor& tensor) {
    value_or_raise(write_npy(*storage_, folder_ / "b.npy", tensor));
    return folder_ / "b.npy";
  }
  TemporaryFolder folder_;
  const std::unique_ptr<Storage> storage_ = make_file_storage(), memory_ = make_memory_storage();
};

TEST_F(NpyFiles, OfEveryTypeAndOrderAreThoseOfNumPy) {
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy writes the files";
  const auto expected = named_lines(output_of(python("numpy_arrays.py") + "write " + (folder_ / "")));
  ASSERT_GT(expected.size(), 300U);
  for (const auto& [path, text] : expected) {
    const Result<Tensor> tensor = read_npy(*storage_, path);
    ASSERT_TRUE(tensor) << tensor.error().message();
    EXPECT_TRUE(array_text(*tensor) == text)
        << path << " is " << text.substr(0, 200) << "\nand was read as " << array_text(*tensor).substr(0, 200);
  }
}

TEST_F(NpyFiles, OfShoalAreReadByNumPy) {
  if (!python_has("numpy")) GTEST_SKIP() << "python3-numpy is not installed: NumPy reads the files";
  std::vector<std::string> many;
  for (int i = 0; i < 20'000; ++i) many.push_back(std::string(size_t(i % 7), 'x') + "\u65e5");
  const std::vector<Tensor> tensors = {
      Tensor::scalar(0.1f),
      Tensor::of<float>({2, 3}, {1, -0.0f, 3e38f, 1e-45f, INFINITY, -INFINITY}),
      Tensor::of<int32_t>({3, 1}, {INT32_MIN, 0, INT32_MAX}),
      Tensor::of<int64_t>({2}, {INT64_MIN, INT64_MAX}),
      Tensor::of<uint8_t>({2, 2}, {0, 1, 254, 255}),
      Tensor::of<bool>({3}, {true, false, true}),
      Tensor(DType::kInt64, {3, 0, 2}),
      Tensor::of_strings({2, 2}, {"", "plain", "tr\u00fc\u00dfe", "\U0001f41f \u65e5\u672c"}),
      Tensor::of_strings({2}, {"\xff\xfe", std::string("a\0b", 3)}),
      Tensor::of_strings({0}, {}),
      Tensor::of_strings({20'000}, many),
      Tensor::zeros(DType::kFloat32, {5, 20'001}),
      Tensor::zeros(DType::kUInt8, {1, 1, 1, 1, 1, 1, 1, 1}),
  };
  for (const Tensor& tensor : tensors) {
    const std::string path = written(tensor);
    EXPECT_EQ(output_of(python("numpy_arrays.py") + "read " + path), array_text(tensor) + "\n");
    const Result<Tensor> again = read_npy(*storage_, path);
    ASSERT_TRUE(again) << again.error().message();
    EXPECT_EQ(array_text(*again), array_text(tensor));
  }
  Tensor half(DType::kFloat16, {2});
  const uint16_t bits[] = {0x3c00, 0xc500};
  std::memcpy(half.mutable_view().data, bits, sizeof bits);
  EXPECT_EQ(output_of(python("numpy_arrays.py") + "read " + written(half)),
            array_text(Tensor::of<float>({2}, {1, -5})) + "\n");
}

TEST_F(NpyFiles, WhatNumPyCannotHoldIsNotWritten) {
  const auto error = [&](const Tensor& tensor) { return write_npy(*storage_, folder_ / "c.npy", tensor).error(); };
  EXPECT_EQ(error(Tensor(DType::kBFloat16, {2})).kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(error(Tensor::of_strings({2}, {"a", std::string("b\0", 2)})).message(),
              AllOf(HasSubstr("c.npy: string 1 ends with a zero byte"), HasSubstr("uint8")));
  EXPECT_FALSE(storage_->exists(folder_ / "c.npy"));
  EXPECT_EQ(write_npy(*storage_, folder_ / "none/c.npy", Tensor::scalar(1.0f)).error().kind(), ErrorKind::kNotFound);
}

TEST_F(NpyFiles, ValuesThatATensorCannotHoldAreTold) {
  const std::string large = std::string(8, '\0') + std::string(7, '\0') + '\x80';
  EXPECT_THAT(
      error_of(npy_of("<u8", "(2,)", large)).message(),
      HasSubstr("element 1 in the order of the file (offset 76) is 9223372036854775808, which is more than int64 holds"));
  EXPECT_THAT(error_of(npy_of("|b1", "(3,)", std::string("\x01\x00\x02", 3))).message(),
              HasSubstr("has the byte 2, and a bool is 0 or 1"));
  for (const uint32_t strange : {0xd800U, 0xdfffU, 0x110000U, 0xffffffffU}) {
    std::string bytes("a\0\0\0", 4);
    append_little_endian(bytes, strange);
    const Error error = error_of(npy_of("<U2", "(1,)", bytes));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(error.message(),
                HasSubstr("element 0 in the order of the file (offset 68) has the number " + std::to_string(strange)));
  }
}

TEST_F(NpyFiles, OfTypesThatTensorsDoNotHaveAreRefusedWithHelp) {
  const std::pair<const char*, const char*> cases[] = {
      {"'|O'", "pickle"},    {"[('a', '<f4')]", "fields"}, {"'<c8'", "array.real"},         {"'<M8[s]'", "astype('int64')"},
      {"'<m8[D]'", "times"}, {"'|V4'", "view()"},          {"'<f16'", "astype('float64')"}, {"'<f12'", "astype('float64')"},
  };
  for (const auto& [descr, help] : cases) {
    const Error error = error_of(
        npy_of(std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (1,), }", std::string(16, 'x')));
    EXPECT_EQ(error.kind(), ErrorKind::kFailedPrecondition) << descr;
    EXPECT_THAT(error.message(), HasSubstr(help));
  }
  EXPECT_THAT(error_of(npy_of("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1)", "x")).message(), HasSubstr("the array has 9 axes"));
  EXPECT_THAT(error_of("PK\3\4").message(), HasSubstr("read_npz"));
  EXPECT_EQ(error_of("\x89PNG\r\n").kind(), ErrorKind::kFailedPrecondition);
  EXPECT_EQ(error_of("1,2,3\n").kind(), ErrorKind::kDataLoss);
  EXPECT_EQ(read_npy(*storage_, folder_ / "none").error().kind(), ErrorKind::kNotFound);
}

TEST_F(NpyFiles, HeadersAreReadAsPythonReadsThem) {
  for (const char* header :
       {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)}", "{'shape':(2,),\"fortran_order\":False,'descr':\"|u1\"}",
        " {\t'descr' : '<u1' ,\n'fortran_order' : True , 'shape' : ( 2 , ) , } \n",
        "{'descr': '>u1', 'fortran_order': False, 'shape': (2L,), }",
        "{'descr': '|u1', 'fortran_order': False, 'shape': (1, 2), }"}) {
    const Result<Tensor> tensor = read(npy_of(header, "ab"));
    ASSERT_TRUE(tensor) << tensor.error().message();
    EXPECT_EQ(tensor->as<uint8_t>()[1], 'b');
  }
  const std::pair<const char*, const char*> cases[] = {
      {"", "(offset 10): the header ends where { is expected"},
      {"x", "(offset 10): expected {, found \"x\""},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)",
       "(offset 64): the header ends where a comma or } is expected"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,)} x", "expected blanks up to its end"},
      {"{'descr': '|u1', 'fortran_order': False}", "the key shape is missing"},
      {"{'descr': '|u1', 'shape': (2,)}", "the key fortran_order is missing"},
      {"{'fortran_order': False, 'shape': (2,)}", "the key descr is missing"},
      {"{'descr': '|u1', 'descr': '|u1', 'fortran_order': False, 'shape': (2,)}",
       "the key descr is unknown, or is there twice"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2,), 'more': 1}", "the key more is unknown"},
      {"{'descr': '|u1', 'fortran_order': 0, 'shape': (2,)}", "expected True or False"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2)}", "no tuple"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (-2,)}", "a size of at least 0"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (02,)}", "a size of at least 0"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (,)}", "a size of at least 0"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (2 3)}", "a comma or )"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': [2]}", "a tuple of sizes"},
      {"{'descr': '|u1', 'fortran_order': False, 'shape': (9223372036854775807, 2)}", "2^63"},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (9223372036854775807,)}", "more bytes than can be counted"},
      {"{'descr': 'u1', 'fortran_order': False, 'shape': (2,)}", "the type \"u1\" is unknown"},
      {"{'descr': '|u3', 'fortran_order': False, 'shape': (2,)}", "the type \"|u3\" is unknown"},
      {"{'descr': '|f4', 'fortran_order': False, 'shape': (2,)}", "the type \"|f4\" is unknown"},
      {"{'descr': '|S0', 'fortran_order': False, 'shape': (2,)}", "the type \"|S0\" is unknown"},
      {"{'descr': '<U99999999999', 'fortran_order': False, 'shape': (2,)}", "is unknown"},
      {"{'descr': '<u1\\'', 'fortran_order': False, 'shape': (2,)}", "a type in quotes"},
      {"{'descr': '<u1, 'fortran_order': False, 'shape': (2,)}", "unknown"},
  };
  for (const auto& [header, sentence] : cases) {
    const Error error = error_of(npy_of(header, "ab"));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << header;
    EXPECT_THAT(error.message(), AllOf(HasSubstr("bad NPY header (offset "), HasSubstr(sentence)));
  }
}

TEST_F(NpyFiles, CutOrDamagedAnywhereAreErrorsOrArraysOfAsManyBytes) {
  const std::string whole = npy_of("<i2", "(2, 3)", "abcdefghijkl");
  const Tensor right = value_or_raise(read(whole));
  for (size_t size = 0; size < whole.size(); ++size) {
    const Error error = error_of(whole.substr(0, size));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << size;
  }
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 1)).message(), HasSubstr("promises 12 bytes from offset"));
  EXPECT_THAT(error_of(whole + "x").message(),
              HasSubstr("goes on behind its array, which ends at offset " + std::to_string(whole.size())));
  for (size_t at = 0; at < whole.size(); ++at) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ (1 << bit));
      const Result<Tensor> tensor = read(damaged);
      if (!tensor) {
        EXPECT_THAT(tensor.error().message(), StartsWith("a.npy"));
      } else {
        EXPECT_EQ(tensor->elements(), right.elements()) << at;
      }
    }
  }
}

TEST_F(NpyFiles, LimitsComeBeforeMemory) {
  EXPECT_EQ(error_of(npy_of("<f4", "(1000,)", std::string(4000, 'x')), {.bytes_max = 3999}).kind(),
            ErrorKind::kInvalidArgument);
  EXPECT_TRUE(read(npy_of("<f4", "(1000,)", std::string(4000, 'x')), {.bytes_max = 4000}));
  EXPECT_EQ(error_of(npy_of("|S1", "(1000,)", std::string(1000, 'x')), {.bytes_max = 4000}).kind(),
            ErrorKind::kInvalidArgument);
  EXPECT_EQ(error_of(npy_of("<f4", "(1000000000,)", "x")).kind(), ErrorKind::kDataLoss);
  const StopSource source;
  source.request_stop();
  write_file(folder_ / "a.npy", npy_of("|u1", "(1,)", "x"));
  EXPECT_EQ(read_npy(*storage_, folder_ / "a.npy", {.stop = source.token()}).error().kind(), ErrorKind::kCancelled);
}

TEST_F(NpyFiles, MayBeCompressed) {
  if (!is_installed("gzip")) GTEST_SKIP() << "gzip is not installed: it makes the file";
  write_file(folder_ / "a.npy", npy_of("<f8", "(2,)", std::string(16, '\0')));
  output_of("gzip -c " + (folder_ / "a.npy") + " > " + (folder_ / "packed"));
  EXPECT_EQ(array_text(value_or_raise(read_npy(*storage_, folder_ / "packed"))), "float32 [2] 0 0");
  write_file(folder_ / "a.npy", npy_of("<f8", "(2,)", std::string(17, '\0')));
  output_of("gzip -c " + (folder_ / "a.npy") + " > " + (folder_ / "packed"));
  EXPECT_THAT(read_npy(*storage_, folder_ / "packed").error().message(), HasSubstr("goes on behind its array"));
}

}  // namespace
}  // namespace shoal::data
