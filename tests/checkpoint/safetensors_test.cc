// SPDX-License-Identifier: Apache-2.0
// Safetensors files, byte by byte as the format's description has them.
#include "shoal/checkpoint/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <limits>

#include "shoal/base/memory_storage.h"

namespace shoal::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
std::string bytes_of_all(std::initializer_list<T> values) {
  return {reinterpret_cast<const char*>(values.begin()), values.size() * sizeof(T)};
}

std::string safetensors_file(const std::string& header, const std::string& contents) {
  return bytes_of_all<uint64_t>({header.size()}) + header + contents;
}

class SafetensorsReader : public ::testing::Test {
 protected:
  Result<std::unique_ptr<SafetensorsFile>> open(const std::string& contents) {
    EXPECT_TRUE(storage_->write_atomically("/w.safetensors", contents));
    return SafetensorsFile::open(*storage_, "/w.safetensors");
  }
  /// What opening `contents` says.
  Error refused(const std::string& contents) {
    const auto file = open(contents);
    return file ? internal_error("was not refused") : file.error();
  }
  /// A file with one tensor "t".
  Result<Tensor> read_one(const std::string& dtype, const std::string& shape, const std::string& contents) {
    const auto file = open(safetensors_file(R"({"t":{"dtype":")" + dtype + R"(","shape":)" + shape +
                                                R"(,"data_offsets":[0,)" + std::to_string(contents.size()) + "]}}",
                                            contents));
    if (!file) return file.error();
    return (*file)->read(*(*file)->find("t"));
  }

  std::unique_ptr<Storage> storage_ = make_memory_storage();
};

TEST_F(SafetensorsReader, ListsTensorsByName) {
  const auto file =
      open(safetensors_file(R"({"b":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},"__metadata__":{"format":"pt"},)"
                            R"("a":{"dtype":"U8","shape":[],"data_offsets":[8,9]}} )",
                            bytes_of_all<float>({1.5f, -2}) + "\x07"));
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ((*file)->tensors().size(), 2u);
  EXPECT_EQ((*file)->tensors()[0].name, "a");
  EXPECT_EQ((*file)->tensors()[1].shape, (Shape{2, 1}));
  EXPECT_EQ((*file)->find("c"), nullptr);
  EXPECT_THAT(value_or_raise((*file)->read((*file)->tensors()[0])).as<uint8_t>(), ElementsAre(7));
  EXPECT_THAT(value_or_raise((*file)->read((*file)->tensors()[1])).as<float>(), ElementsAre(1.5f, -2));
}

/// The bits of the 16-bit numbers are worked out by hand.
TEST_F(SafetensorsReader, ReadsItsTypes) {
  EXPECT_THAT(value_or_raise(read_one("F16", "[3]", bytes_of_all<uint16_t>({0x3c00, 0xc100, 0x0001}))).as<float>(),
              ElementsAre(1, -2.5f, 0x1p-24f));
  EXPECT_THAT(value_or_raise(read_one("BF16", "[2]", bytes_of_all<uint16_t>({0x3f80, 0xc020}))).as<float>(),
              ElementsAre(1, -2.5f));
  EXPECT_THAT(value_or_raise(read_one("F64", "[3]", bytes_of_all<double>({1e300, 0.1, -3}))).as<float>(),
              ElementsAre(std::numeric_limits<float>::infinity(), 0.1f, -3));
  EXPECT_THAT(value_or_raise(read_one("I64", "[1]", bytes_of_all<int64_t>({-5}))).as<int64_t>(), ElementsAre(-5));
  EXPECT_THAT(value_or_raise(read_one("I32", "[1]", bytes_of_all<int32_t>({-6}))).as<int32_t>(), ElementsAre(-6));
  EXPECT_THAT(value_or_raise(read_one("BOOL", "[2]", std::string("\1\0", 2))).as<bool>(), ElementsAre(true, false));
  EXPECT_EQ(value_or_raise(read_one("F32", "[3,0]", "")).shape(), (Shape{3, 0}));
}

TEST_F(SafetensorsReader, ConvertsMoreThanItReadsAtOnce) {
  std::string contents;
  for (int i = 0; i < 20000; ++i) contents += bytes_of_all<double>({double(i)});
  const Tensor tensor = value_or_raise(read_one("F64", "[20000]", contents));
  for (size_t i = 0; i < 20000; ++i) ASSERT_EQ(tensor.as<float>()[i], float(i));
}

TEST_F(SafetensorsReader, AnotherTypeIsShownButNotRead) {
  const auto read = read_one("F8_E4M3", "[2]", "ab");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kFailedPrecondition);
  EXPECT_THAT(read.error().message(), AllOf(HasSubstr("/w.safetensors: tensor t is of type F8_E4M3"), HasSubstr("F32")));
  EXPECT_FALSE(read_one("I16", "[1]", "ab"));
}

TEST_F(SafetensorsReader, ABoolIsZeroOrOne) {
  const auto read = read_one("BOOL", "[2]", "\1\2");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(read.error().message(), HasSubstr("tensor t: the byte at offset 64 is 2"));
}

TEST_F(SafetensorsReader, DamageIsDataLossNamingFileAndPlace) {
  const std::string header = R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  const std::string whole = safetensors_file(header, "abcdefgh");
  ASSERT_TRUE(open(whole));
  for (size_t length = 0; length < whole.size(); ++length) {
    const Error error = refused(whole.substr(0, length));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << length;
    EXPECT_THAT(error.message(), HasSubstr("/w.safetensors: ")) << length;
  }
  EXPECT_THAT(refused(whole + "x").message(), HasSubstr("its tensors end at offset " + std::to_string(whole.size())));
  EXPECT_THAT(refused(safetensors_file("[]", "")).message(), HasSubstr("the header at offset 8: not a JSON object"));
  const auto with = [&](const std::string& fields) {
    return refused(safetensors_file("{\"t\":" + fields + "}", "abcdefgh")).message();
  };
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[3],"data_offsets":[0,8]})"), HasSubstr("tensor t: it is F32 [3]"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[2],"data_offsets":[8,0]})"),
              HasSubstr("tensor t: its data_offsets are 8 and 0"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[2],"data_offsets":[0,99]})"), HasSubstr("0 and 99"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[2],"data_offsets":[0]})"), HasSubstr("data_offsets"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[-2],"data_offsets":[0,8]})"), HasSubstr("shape"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]})"),
              HasSubstr("tensor t: shape"));
  EXPECT_THAT(with(R"({"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,8]})"),
              HasSubstr("tensor t: it is F32"));
  EXPECT_THAT(with(R"({"shape":[2],"data_offsets":[0,8]})"), HasSubstr("dtype"));
  EXPECT_THAT(refused(safetensors_file(R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
                                       R"("b":{"dtype":"U8","shape":[5],"data_offsets":[3,8]}})",
                                       "abcdefgh"))
                  .message(),
              HasSubstr("tensor b begins at offset"));
}

}  // namespace
}  // namespace shoal::checkpoint
