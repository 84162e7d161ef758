// SPDX-License-Identifier: Apache-2.0
// JPEG and PNG images, against the pixels that Pillow reads, and against PNG files whose pixels are known.
#include <gmock/gmock.h>

#include "collecting.h"
#include "image_files.h"
#include "shoal/data/images.h"

namespace shoal::data {
namespace {

using ::testing::HasSubstr;

constexpr bool kHasJpeg = SHOAL_DATA_TESTS_JPEG, kHasPng = SHOAL_DATA_TESTS_PNG;

Error error_of(std::string_view bytes, const ImageOptions& options = {}) {
  const Result<Tensor> image = decode_image(bytes, options);
  return image ? internal_error("an image") : image.error();
}

class Images : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!kHasJpeg || !kHasPng) GTEST_SKIP() << "this build is without libjpeg or libpng";
  }
  TemporaryFolder folder_;
};

TEST_F(Images, HaveThePixelsThatOthersRead) {
  if (!python_has("numpy, PIL.Image")) GTEST_SKIP() << "python3-numpy or python3-pil is not installed: they make the files";
  const auto cases = words_of_lines(output_of(python("image_files.py") + folder_.path()));
  ASSERT_EQ(cases.size(), 821);
  const auto storage = make_file_storage();
  for (const auto& one : cases) {
    ASSERT_EQ(one.size(), 6);
    const ImageOptions options{.channels = std::stoi(one[1]),
                               .at_least = {.height = std::stol(one[2]), .width = std::stol(one[3])},
                               .apply_orientation = one[4] == "1"};
    const Result<Tensor> image = read_image(*storage, folder_ / one[0], options);
    const std::string what =
        one[0] + " channels " + one[1] + " at least " + one[2] + " x " + one[3] + " orientation " + one[4];
    if (!image) ADD_FAILURE() << what << ": " << image.error().message();
    if (!image) continue;
    const Tensor expected = pixels_in(folder_ / one[5]);
    EXPECT_EQ(image->shape(), expected.shape()) << what;
    EXPECT_EQ(distance(*image, expected).largest, 0) << what;
  }
}

TEST_F(Images, OfPngComeBackExactly) {
  for (int channels = 1; channels <= 4; ++channels) {
    for (const auto& [height, width] : {std::pair(1, 1), {3, 70}, {65, 2}}) {
      const Tensor image = test_image(height, width, channels);
      const Tensor read = value_or_raise(decode_image(value_or_raise(encode_png(image))));
      EXPECT_TRUE(same_bits(read, image)) << channels << " " << height;
    }
  }
}

TEST_F(Images, OfJpegComeBackNearly) {
  for (const int channels : {1, 3}) {
    Tensor image(DType::kUInt8, Shape{40, 50, channels});
    int64_t i = 0;
    for (uint8_t& value : image.mutable_as<uint8_t>()) value = uint8_t(i++ / channels % 50 * 4);
    const std::string fine = value_or_raise(encode_jpeg(image, 100)), small = value_or_raise(encode_jpeg(image, 20));
    EXPECT_LT(small.size(), fine.size());
    EXPECT_LE(distance(value_or_raise(decode_image(fine)), image).largest, 4);
  }
}

TEST_F(Images, AreDecodedAtTheSmallestScaleThatIsLargeEnough) {
  const std::string jpeg = value_or_raise(encode_jpeg(test_image(83, 160, 3)));
  for (int64_t side = 1; side <= 90; ++side) {
    for (const auto& at_least : {ImageSize{side, 0}, ImageSize{0, side}, ImageSize{side, side}}) {
      int64_t eighths = 1;
      const auto scaled = [&](int64_t pixels) { return (pixels * eighths + 7) / 8; };
      while (eighths < 8 && (scaled(83) < at_least.height || scaled(160) < at_least.width)) ++eighths;
      const Tensor image = value_or_raise(decode_image(jpeg, {.at_least = at_least}));
      EXPECT_EQ(image.shape(), (Shape{scaled(83), scaled(160), 3})) << at_least.height << " " << at_least.width;
    }
  }
}

TEST_F(Images, OfPngFilesThatAreDamagedAreRefusedOrEqual) {
  const Tensor image = test_image(20, 21, 3);
  const std::string whole = value_or_raise(encode_png(image));
  for (size_t at = 0; at < whole.size(); ++at) {
    EXPECT_EQ(error_of(whole.substr(0, at)).kind(), ErrorKind::kDataLoss) << at;
    for (const char bits : {1, 0x20, 0x55}) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ bits);
      const Error error = error_of(damaged);
      EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << at;
      EXPECT_THAT(error.message(),
                  HasSubstr(at < 4 ? "no JPEG or PNG image" : (at < 8 ? "the first 8 bytes" : "the PNG file is ")));
    }
  }
  EXPECT_THAT(error_of(whole.substr(0, whole.size() / 2)).message(),
              HasSubstr("the PNG file is damaged near byte " + std::to_string(whole.size() / 2)));
}

TEST_F(Images, OfJpegFilesThatEndEarlyAreRefusedUnlessTheyAreAccepted) {
  const std::string whole = value_or_raise(encode_jpeg(test_image(40, 41, 3)));
  int accepted = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    const Error error = error_of(whole.substr(0, at));
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss) << at;
    EXPECT_THAT(error.message(), HasSubstr(at < 3 ? "no JPEG or PNG image" : "the JPEG file is damaged near byte")) << at;
    const Result<Tensor> image = decode_image(whole.substr(0, at), {.accept_damage = true});
    accepted += image.has_value();
    if (image) {
      EXPECT_EQ(image->shape(), (Shape{40, 41, 3}));
    }
  }
  EXPECT_GT(accepted, int(whole.size() / 2));
  EXPECT_THAT(error_of(whole.substr(0, whole.size() - 2)).message(), HasSubstr("byte " + std::to_string(whole.size() - 2)));
}

TEST_F(Images, OfJpegFilesWithOtherBitsAreRefusedOrImages) {
  const std::string whole = value_or_raise(encode_jpeg(test_image(40, 41, 3)));
  int refused = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char bits : {1, 0x20, 0x55}) {
      std::string damaged = whole;
      damaged[at] = char(damaged[at] ^ bits);
      const Result<Tensor> image = decode_image(damaged, {.pixels_max = 100'000});
      refused += !image;
      if (!image) {
        EXPECT_EQ(image.error().kind(), ErrorKind::kDataLoss) << image.error().message();
      }
    }
  }
  EXPECT_GT(refused, 300);
}

TEST_F(Images, OfMorePixelsThanTheLimitAreRefused) {
  for (const std::string& file :
       {value_or_raise(encode_jpeg(test_image(20, 30, 3))), value_or_raise(encode_png(test_image(20, 30, 3)))}) {
    EXPECT_TRUE(decode_image(file, {.pixels_max = 600}));
    const Error error = error_of(file, {.pixels_max = 599});
    EXPECT_EQ(error.kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(error.message(), HasSubstr("the image has 20 x 30 pixels, more than pixels_max, 599"));
  }
}

/// A header that promises 2^31 - 1 rows of as many pixels.
TEST_F(Images, OfAFileThatCannotHoldThemAreRefused) {
  std::string png(
      "\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\x7f\xff\xff\xff\x7f\xff\xff\xff\x08\0\0\0\0\x31\xa2\x54\xba\0\0\0\x01IDAT", 41);
  EXPECT_THAT(error_of(png).message(), HasSubstr("the image has 2147483647 x 2147483647 pixels, more than pixels_max"));
  png = value_or_raise(encode_png(Tensor::zeros(DType::kUInt8, Shape{3000, 3000, 1})));
  EXPECT_TRUE(decode_image(png));
  EXPECT_THAT(error_of(png.substr(0, 60)).message(), HasSubstr("the PNG file is "));
}

TEST_F(Images, OfProgressiveFilesWithManyScansAreRefused) {
  if (!python_has("PIL.Image")) GTEST_SKIP() << "python3-pil is not installed: it makes the file";
  output_of("/usr/bin/python3 -c \"from PIL import Image; Image.new('L', (64, 64)).save('" + (folder_ / "p.jpg") +
            "', progressive=True)\"");
  const std::string whole = contents_of(folder_ / "p.jpg");
  ASSERT_TRUE(decode_image(whole));
  const size_t last_scan = whole.rfind("\xff\xda");
  std::string many = whole.substr(0, whole.size() - 2);
  for (int i = 0; i < 200; ++i) many += whole.substr(last_scan, whole.size() - 2 - last_scan);
  many += whole.substr(whole.size() - 2);
  EXPECT_THAT(error_of(many, {.accept_damage = true}).message(), HasSubstr("more than 100 scans"));
}

TEST_F(Images, OfManyFilesAreReadByFunctionsOfMap) {
  std::vector<std::string> paths, files;
  for (int i = 0; i < 20; ++i) {
    const Tensor image = test_image(5 + i, 7, 3, RandomKey(i));
    files.push_back(value_or_raise(i % 2 ? encode_png(image) : encode_jpeg(image)));
    paths.push_back(folder_.write("images/" + std::to_string(i), files.back()));
  }
  const Dataset names = Dataset::from_tensor_slices(Tensor::of_strings(Shape{20}, paths));
  const Dataset bytes = Dataset::from_tensor_slices({{"file", Tensor::of_strings(Shape{20}, files)}});
  for (const int parallel : {1, 3}) {
    size_t count = 0;
    for (const Element& one : names.map(read_images({.channels = 3}), {.parallel = parallel}).elements()) {
      EXPECT_TRUE(same_bits(one.features.single(), value_or_raise(decode_image(files[count++]))));
    }
    EXPECT_EQ(count, files.size());
    count = 0;
    for (const Element& one : bytes.map(decode_images({}, "file"), {.parallel = parallel}).elements()) {
      EXPECT_TRUE(same_bits(one.features["file"], value_or_raise(decode_image(files[count++]))));
    }
    EXPECT_EQ(count, files.size());
  }
}

TEST_F(Images, OfABadFileNameIt) {
  const std::string damaged = folder_.write("damaged", value_or_raise(encode_png(test_image(5, 5, 1))).substr(0, 50));
  const auto error_of_map = [&](Tensor feature, ReadImagesOptions from = {}) {
    const Dataset dataset = Dataset::from_tensors(std::move(feature)).map(read_images({}, from));
    return *raised([&] {
      for (const Element& element : dataset.elements()) static_cast<void>(element);
    });
  };
  EXPECT_THAT(error_of_map(Tensor::of_strings(Shape{}, {damaged})).message(),
              HasSubstr(damaged + ": the PNG file is damaged"));
  EXPECT_EQ(error_of_map(Tensor::of_strings(Shape{}, {folder_ / "none"})).kind(), ErrorKind::kNotFound);
  EXPECT_THAT(error_of_map(Tensor::of_strings(Shape{}, {folder_ / "none"})).message(), HasSubstr(folder_ / "none"));
  EXPECT_THAT(error_of_map(Tensor::of_strings(Shape{1}, {damaged})).message(), HasSubstr("is a string scalar"));
  EXPECT_THAT(error_of_map(Tensor::scalar(1.0f)).message(), HasSubstr("is a string scalar"));
  EXPECT_EQ(error_of_map(Tensor::scalar(1.0f)).kind(), ErrorKind::kInvalidArgument);
  EXPECT_THAT(error_of_map(Tensor::scalar(1.0f), {.feature = "path"}).message(), HasSubstr("there is no feature \"path\""));
}

#if __has_include(<zlib.h>)
TEST_F(Images, InCompressedFilesAreRead) {
  if (!is_installed("gzip")) GTEST_SKIP() << "gzip is not installed: it makes the file";
  const Tensor image = test_image(300, 200, 3);
  const std::string plain = folder_.write("a.png", value_or_raise(encode_png(image)));
  output_of("gzip -c " + plain + " > " + (folder_ / "b.png"));
  EXPECT_TRUE(same_bits(value_or_raise(read_image(*make_file_storage(), folder_ / "b.png")), image));
}
#endif

TEST(ImageBytes, OfOtherFormatsAreNamed) {
  const std::pair<std::string, const char*> cases[] = {
      {"GIF89a...", "a GIF image"},
      {"RIFF....WEBPVP8 ", "a WebP image"},
      {"BM......", "a BMP image"},
      {std::string("II*\0", 4), "a TIFF image"},
      {std::string("\0\0\0\x1c", 4) + "ftypavif", "an AVIF image"},
      {std::string("\0\0\0\x1c", 4) + "ftypheic", "an HEIF image"},
      {"<!DOCTYPE html><html>", "is a page of HTML"},
      {"version https://git-lfs.github.com/spec/v1", "git lfs pull fetches it"},
      {"\x89PNG\n\x1a\n...", "where a program copies it as text"},
      {"something", "it begins as neither of them does"},
      {"", "there are no bytes"},
  };
  for (const auto& [bytes, sentence] : cases) {
    EXPECT_EQ(error_of(bytes).kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(error_of(bytes).message(), HasSubstr(sentence));
  }
}

TEST(ImageBytes, AreRefusedByABuildWithoutTheLibrary) {
  if (!kHasJpeg) {
    EXPECT_EQ(error_of("\xff\xd8\xff").kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(error_of("\xff\xd8\xff").message(), HasSubstr("install libjpeg62-turbo-dev"));
    EXPECT_EQ(encode_jpeg(test_image(2, 2, 3)).error().kind(), ErrorKind::kFailedPrecondition);
  }
  if (!kHasPng) {
    EXPECT_EQ(error_of("\x89PNG\r\n\x1a\n").kind(), ErrorKind::kFailedPrecondition);
    EXPECT_THAT(error_of("\x89PNG\r\n\x1a\n").message(), HasSubstr("install libpng-dev"));
    EXPECT_EQ(encode_png(test_image(2, 2, 3)).error().kind(), ErrorKind::kFailedPrecondition);
  }
}

TEST(ImageBytes, OptionsOutOfRangeAreRefused) {
  const auto kind = [](const ImageOptions& options) {
    return raised([&] { EXPECT_EQ(error_of("", options).message(), ""); })->kind();
  };
  EXPECT_EQ(kind({.channels = 2}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind({.channels = -1}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind({.pixels_max = 0}), ErrorKind::kInvalidArgument);
  EXPECT_EQ(kind({.at_least = {.height = -1}}), ErrorKind::kInvalidArgument);
  EXPECT_TRUE(raised([] { read_images({.channels = 5}); }));
  EXPECT_TRUE(raised([] { decode_images({.channels = 5}); }));
}

TEST(ImageBytes, OfWhatIsNoImageAreNotMade) {
  const auto refused = [](const auto& make) {
    const auto error = raised([&] { static_cast<void>(make().has_value()); });
    return error && error->kind() == ErrorKind::kInvalidArgument;
  };
  EXPECT_TRUE(refused([] { return encode_png(test_image(2, 2, 5)); }));
  EXPECT_TRUE(refused([] { return encode_png(as_floats(test_image(2, 2, 3))); }));
  EXPECT_TRUE(refused([] { return encode_png(Tensor(DType::kUInt8, Shape{0, 2, 3})); }));
  EXPECT_TRUE(refused([] { return encode_png(Tensor::zeros(DType::kUInt8, Shape{2, 3})); }));
  EXPECT_TRUE(refused([] { return encode_jpeg(test_image(2, 2, 4)); }));
  EXPECT_TRUE(refused([] { return encode_jpeg(test_image(2, 2, 3), 0); }));
  EXPECT_TRUE(refused([] { return encode_jpeg(test_image(2, 2, 3), 101); }));
  EXPECT_TRUE(refused([] { return encode_jpeg(test_image(1, 65501, 1)); }));
}

}  // namespace
}  // namespace shoal::data
