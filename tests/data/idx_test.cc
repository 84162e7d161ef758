// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/idx.h"

#if __has_include(<zlib.h>)
#include <zlib.h>
#define SHOAL_TEST_ZLIB 1
#endif

#include <algorithm>
#include <bit>
#include <cstdlib>

#include "collecting.h"

namespace shoal::data {
namespace {

std::string big_endian(uint64_t value, int bytes) {
  std::string text;
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) text.push_back(char(value >> shift));
  return text;
}

std::string header(int type, std::initializer_list<uint32_t> sizes) {
  std::string text{'\0', '\0', char(type), char(sizes.size())};
  for (const uint32_t size : sizes) text += big_endian(size, 4);
  return text;
}

class Idx : public testing::Test {
 protected:
  Result<Tensor> read(const std::string& contents, const IdxOptions& options = {}) {
    path_ = folder_.write("file.idx", contents);
    return read_idx(*storage_, path_, options);
  }
  void expect_error(const std::string& contents, ErrorKind kind, const std::string& part) {
    const Result<Tensor> tensor = read(contents);
    ASSERT_FALSE(tensor);
    EXPECT_EQ(tensor.error().kind(), kind) << tensor.error().message();
    EXPECT_EQ(tensor.error().message().find(path_), 0u) << tensor.error().message();
    EXPECT_NE(tensor.error().message().find(part), std::string::npos) << tensor.error().message();
  }
  const std::string images_ = header(0x08, {2, 2, 3}) + std::string("\x00\x01\x02\x03\x04\x05\x06\x07\x08\x09\x0a\xff", 12);
  TemporaryFolder folder_;
  std::unique_ptr<Storage> storage_ = make_file_storage();
  std::string path_;
};

TEST_F(Idx, ReadsBytes) {
  const Tensor tensor = value_or_raise(read(images_));
  EXPECT_EQ(tensor.dtype(), DType::kUInt8);
  EXPECT_EQ(value_of(tensor), Value({2, 2, 3}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255}));
}

TEST_F(Idx, ReadsEveryType) {
  const Tensor int8 = value_or_raise(read(header(0x09, {3}) + "\x01\xff\x80"));
  EXPECT_TRUE(std::ranges::equal(int8.as<int32_t>(), std::vector<int32_t>{1, -1, -128}));
  const Tensor int16 = value_or_raise(read(header(0x0b, {2}) + big_endian(0x1234, 2) + big_endian(0xfffe, 2)));
  EXPECT_TRUE(std::ranges::equal(int16.as<int32_t>(), std::vector<int32_t>{0x1234, -2}));
  const Tensor int32 = value_or_raise(read(header(0x0c, {2, 1}) + big_endian(0x12345678, 4) + big_endian(0xfffffffe, 4)));
  EXPECT_TRUE(std::ranges::equal(int32.as<int32_t>(), std::vector<int32_t>{0x12345678, -2}));
  EXPECT_EQ(int32.shape(), (Shape{2, 1}));
  const Tensor float32 = value_or_raise(read(header(0x0d, {1}) + big_endian(std::bit_cast<uint32_t>(-1.5f), 4)));
  EXPECT_EQ(float32.as<float>()[0], -1.5f);
  const Tensor float64 = value_or_raise(read(header(0x0e, {1}) + big_endian(std::bit_cast<uint64_t>(0.1), 8)));
  EXPECT_EQ(float64.as<float>()[0], 0.1f);
}

TEST_F(Idx, ConvertsManyPieces) {
  std::string contents = header(0x0b, {20001});
  for (uint64_t i = 0; i < 20001; ++i) contents += big_endian(i, 2);
  const Tensor tensor = value_or_raise(read(contents));
  for (size_t i = 0; i < 20001; ++i) ASSERT_EQ(tensor.as<int32_t>()[i], int32_t(i));
}

TEST_F(Idx, ReadsScalarsAndEmptyTensors) {
  EXPECT_EQ(value_of(value_or_raise(read(header(0x08, {}) + "\x05"))), Value(5));
  EXPECT_EQ(value_or_raise(read(header(0x08, {0, 28, 28}))).shape(), (Shape{0, 28, 28}));
}

TEST_F(Idx, RefusesAFileThatIsCutAnywhere) {
  for (size_t size = 0; size < images_.size(); ++size)
    expect_error(images_.substr(0, size), ErrorKind::kDataLoss, "truncated");
  expect_error(images_.substr(0, 20), ErrorKind::kDataLoss,
               "the file is truncated: its header promises 12 bytes from offset 16, and there are at most 4");
}

TEST_F(Idx, RefusesBytesAfterTheEnd) { expect_error(images_ + "x", ErrorKind::kDataLoss, "goes on after its 28 bytes"); }

TEST_F(Idx, SaysWhichArchiveAFileIs) {
  expect_error("PK\x03\x04" + images_, ErrorKind::kFailedPrecondition, "the file is a zip archive");
  expect_error("7z\xbc\xaf\x27\x1c" + images_, ErrorKind::kFailedPrecondition, "the file is a 7z archive");
  // These take more than the four bytes that tell an IDX file.
  const std::string xz(
      "\xfd"
      "7zXZ\0",
      6);
  expect_error(xz + images_, ErrorKind::kFailedPrecondition, "the file is compressed with xz");
  expect_error("BZh91AY&SY" + images_, ErrorKind::kFailedPrecondition, "the file is compressed with bzip2");
  expect_error("train/images" + std::string(245, '\0') + "ustar" + images_, ErrorKind::kFailedPrecondition,
               "the file is a tar archive");
}

TEST_F(Idx, RefusesBadHeaders) {
  for (const char* magic :
       {"\x01\x00\x08\x01", "\x00\x01\x08\x01", "\x00\x00\x0a\x01", "\x00\x00\x0f\x01", "\x89PNG", "<htm"}) {
    expect_error(std::string(magic, 4) + images_.substr(4), ErrorKind::kDataLoss, "not an IDX file");
  }
  expect_error(header(0x08, {1, 1, 1, 1, 1, 1, 1, 1, 1}) + "x", ErrorKind::kDataLoss, "9 dimensions");
  expect_error(header(0x08, {0xffffffff, 0xffffffff, 0xffffffff}), ErrorKind::kDataLoss, "bad IDX header");
}

TEST_F(Idx, ComparesSizesWithTheLimitBeforeItAllocates) {
  expect_error(header(0x08, {0xffffffff, 0xffff}), ErrorKind::kInvalidArgument, "over the limit");
  expect_error(header(0x0c, {0xffffffff}), ErrorKind::kInvalidArgument, "over the limit");
  expect_error(header(0x08, {0x70000000}), ErrorKind::kDataLoss, "its header promises 1879048192 bytes");
  EXPECT_EQ(read(images_, {.bytes_max = 11}).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_TRUE(read(images_, {.bytes_max = 12}));
}

TEST_F(Idx, NamesAMissingFile) {
  const Result<Tensor> tensor = read_idx(*storage_, folder_.path() + "/none");
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().kind(), ErrorKind::kNotFound);
  EXPECT_NE(tensor.error().message().find(folder_.path() + "/none"), std::string::npos);
}

TEST_F(Idx, PairsImagesWithLabels) {
  const std::string images = folder_.write("images", images_);
  const std::string labels = folder_.write("labels", header(0x08, {2}) + "\x07\x03");
  const ImagesAndLabels both = value_or_raise(read_idx_images_labels(*storage_, images, labels));
  EXPECT_EQ(both.images.shape(), (Shape{2, 2, 3, 1}));
  EXPECT_EQ(both.images.as<float>()[3], 3.0f / 255.0f);
  EXPECT_EQ(both.images.as<float>()[11], 1.0f);
  EXPECT_EQ(value_of(both.labels), Value({2}, {7, 3}));
  EXPECT_EQ(both.dataset().cardinality(), 2);

  const std::string three = folder_.write("three", header(0x08, {3}) + "\x07\x03\x01");
  for (const auto& [first, second] : {std::pair(images, three), std::pair(labels, labels), std::pair(images, images)}) {
    const Result<ImagesAndLabels> wrong = read_idx_images_labels(*storage_, first, second);
    ASSERT_FALSE(wrong);
    EXPECT_EQ(wrong.error().kind(), ErrorKind::kDataLoss);
  }
  EXPECT_EQ(read_idx_images_labels(*storage_, images, three).error().message(),
            images + " has 2 images, and " + three + " has 3 labels; they are not of one data set");
}

#if defined(SHOAL_TEST_ZLIB)
std::string gzipped(const std::string& contents) {
  z_stream stream{};
  EXPECT_EQ(deflateInit2(&stream, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY), Z_OK);
  std::string out(deflateBound(&stream, contents.size()) + 64, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = uInt(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = uInt(out.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  out.resize(out.size() - stream.avail_out);
  deflateEnd(&stream);
  return out;
}

TEST_F(Idx, ReadsGzipWhateverTheName) {
  EXPECT_EQ(value_of(value_or_raise(read(gzipped(images_)))), value_of(value_or_raise(read(images_))));
}

TEST_F(Idx, ReadsEveryMemberOfAGzipFile) {
  EXPECT_EQ(value_of(value_or_raise(read(gzipped(images_.substr(0, 9)) + gzipped("") + gzipped(images_.substr(9))))),
            value_of(value_or_raise(read(images_))));
}

TEST_F(Idx, RefusesGzipThatIsCutAnywhere) {
  const std::string compressed = gzipped(images_);
  for (size_t size = 0; size < compressed.size(); ++size) {
    const Result<Tensor> tensor = read(compressed.substr(0, size));
    ASSERT_FALSE(tensor) << "cut to " << size;
    EXPECT_EQ(tensor.error().kind(), ErrorKind::kDataLoss) << tensor.error().message();
    EXPECT_EQ(tensor.error().message().find(path_), 0u) << tensor.error().message();
  }
}

TEST_F(Idx, NoFlippedBitOfGzipChangesTheTensor) {
  const std::string compressed = gzipped(images_);
  const Value expected = value_of(value_or_raise(read(images_)));
  size_t harmless = 0;
  for (size_t i = 0; i < compressed.size(); ++i) {
    for (int bit = 0; bit < 8; ++bit) {
      std::string damaged = compressed;
      damaged[i] = char(damaged[i] ^ (1 << bit));
      const Result<Tensor> tensor = read(damaged);
      if (tensor) {
        // The flipped bit is of the header's time, or of padding.
        EXPECT_EQ(value_of(*tensor), expected) << "byte " << i << ", bit " << bit;
        ++harmless;
      } else if (tensor.error().kind() != ErrorKind::kInvalidArgument) {  // A hit IDX header may exceed the limit.
        EXPECT_EQ(tensor.error().kind(), ErrorKind::kDataLoss) << tensor.error().message();
      }
    }
  }
  EXPECT_LT(harmless, 8 * compressed.size() / 4);
}

TEST_F(Idx, RefusesGzipThatHoldsMoreOrLess) {
  expect_error(gzipped(images_ + "x"), ErrorKind::kDataLoss, "goes on after its 28 bytes");
  expect_error(gzipped(images_.substr(0, 20)), ErrorKind::kDataLoss, "truncated");
  EXPECT_TRUE(read(gzipped(images_) + "junk"));  // As gzip(1) does; the header has said how much there is.
  expect_error(gzipped(header(0x08, {0x70000000})), ErrorKind::kDataLoss, "its header promises 1879048192 bytes");
}

TEST_F(Idx, GzipOfManyChunks) {
  std::string contents = header(0x08, {300000});
  for (uint32_t i = 0, x = 1; i < 300000; ++i) contents.push_back(char((x = x * 1664525 + 1013904223) >> 24));
  const Tensor tensor = value_or_raise(read(gzipped(contents)));
  EXPECT_EQ(std::memcmp(tensor.view().data, contents.data() + 8, 300000), 0);
}
#endif

TEST(RealMnist, IsReadWhole) {
  const char* data = std::getenv("SHOAL_DATA");
  if (!data) GTEST_SKIP() << "SHOAL_DATA does not name a folder of data sets";
  const std::string folder = std::string(data) + "/mnist/";
  const std::unique_ptr<Storage> storage = make_file_storage();
  if (!storage->exists(folder + "t10k-images-idx3-ubyte.gz")) GTEST_SKIP() << folder << " has no MNIST";
  for (const auto& [name, count] : {std::pair("train", 60000), std::pair("t10k", 10000)}) {
    const ImagesAndLabels mnist = value_or_raise(
        read_idx_images_labels(*storage, folder + name + "-images-idx3-ubyte.gz", folder + name + "-labels-idx1-ubyte.gz"));
    EXPECT_EQ(mnist.images.shape(), (Shape{count, 28, 28, 1}));
    std::array<int, 10> counts{};
    for (const int64_t label : mnist.labels.as<int64_t>()) ++counts.at(size_t(label));
    // The published counts of digits 0 and 1.
    EXPECT_EQ(counts[0], count == 60000 ? 5923 : 980);
    EXPECT_EQ(counts[1], count == 60000 ? 6742 : 1135);
    double sum = 0;
    for (const float pixel : mnist.images.as<float>()) sum += double(pixel);
    EXPECT_NEAR(sum / double(mnist.images.elements()), count == 60000 ? 0.1307 : 0.1325, 1e-4);
  }
}

}  // namespace
}  // namespace shoal::data
