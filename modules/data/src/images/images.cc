// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/images.h"

#include <algorithm>
#include <span>

#include "byte_source.h"
#include "formats.h"
#include "no_text.h"
#include "shoal/base/storage.h"

namespace shoal::data {
namespace {

using namespace std::string_view_literals;

/// A known format that Shoal does not read, and the bytes that its files have from `offset` on.
struct OtherFormat {
  size_t offset;
  std::string_view magic;
  const char* name;
};
constexpr OtherFormat kOtherFormats[] = {
    {0, "GIF87a"sv, "a GIF image"},
    {0, "GIF89a"sv, "a GIF image"},
    {8, "WEBP"sv, "a WebP image"},
    {0, "BM"sv, "a BMP image"},
    {0, "II*\0"sv, "a TIFF image"},
    {0, "MM\0*"sv, "a TIFF image"},
    {4, "ftypavif"sv, "an AVIF image"},
    {4, "ftyp"sv, "an HEIF image or a film (MP4)"},
    {4, "jP  \r\n\x87\n"sv, "a JPEG 2000 image"},
    {0, "\xff\x4f\xff\x51"sv, "a JPEG 2000 image"},
    {0, "\xff\x0a"sv, "a JPEG XL image"},
    {4, "JXL \r\n\x87\n"sv, "a JPEG XL image"},
    {0, "P5"sv, "a PGM image"},
    {0, "P6"sv, "a PPM image"},
    {0, "8BPS"sv, "an image of Photoshop"},
    {0, "\0\0\x01\0"sv, "an icon (ICO)"},
    {0, "<svg"sv, "a drawing (SVG)"},
    {0, "<?xml"sv, "XML, as drawings (SVG) are"},
};

Error no_image(std::string_view bytes) {
  if (bytes.empty()) return data_loss("this is no JPEG or PNG image: there are no bytes");
  for (const OtherFormat& format : kOtherFormats) {
    if (bytes.size() < format.offset || !bytes.substr(format.offset).starts_with(format.magic)) continue;
    return data_loss("this is no JPEG or PNG image: it begins as " + std::string(format.name) + " does; convert it");
  }
  if (bytes.starts_with("\x89PNG"sv)) {
    return data_loss("the first 8 bytes of this PNG image are damaged, as they are where a program copies it as text");
  }
  if (const auto what = what_is_no_text(bytes)) {
    return data_loss("this is no JPEG or PNG image: a file that begins so " + *what);
  }
  return data_loss("this is no JPEG or PNG image: it begins as neither of them does");
}

void check_options(const ImageOptions& options) {
  const bool known = options.channels == 0 || options.channels == 1 || options.channels == 3 || options.channels == 4;
  if (!known) {
    raise(invalid_argument("decode_image: channels is " + std::to_string(options.channels) + "; give 0, 1, 3 or 4"));
  }
  if (options.pixels_max < 1 || options.at_least.height < 0 || options.at_least.width < 0) {
    raise(invalid_argument("decode_image: pixels_max must be at least 1, and the sides of at_least must not be negative"));
  }
}

Result<std::string> read_file(Storage& storage, const std::string& path) {
  constexpr uint64_t kFileBytesMax = uint64_t(1) << 30;
  constexpr size_t kImagePieceBytes = 256 << 10;
  SHOAL_TRY(const std::unique_ptr<ByteSource> source, open_bytes(storage, path));
  std::string bytes;
  for (;;) {
    const size_t had = bytes.size();
    const uint64_t left = source->left_max();
    if (source->knows_its_end() && left > kFileBytesMax - had) break;
    bytes.resize(had + size_t(source->knows_its_end() ? left : std::min<uint64_t>(left, kImagePieceBytes)));
    SHOAL_TRY(const size_t count, source->read(std::as_writable_bytes(std::span(bytes)).subspan(had)));
    bytes.resize(had + count);
    if (count == 0) return bytes;
    if (bytes.size() > kFileBytesMax) break;
  }
  return data_loss("the file has more than " + std::to_string(kFileBytesMax) + " bytes");
}

/// The text of a feature, which is a string scalar.
Result<std::string> text_of_feature(const TensorMap& features, const std::string& name, const char* what) {
  const Tensor* const text = features.find(name);
  if (!text) {
    return invalid_argument("there is no feature \"" + name + "\" that has " + what + "; there are: " + features.names());
  }
  if (text->dtype() == DType::kString && text->shape() == Shape{}) return text->strings()[0];
  return invalid_argument("the feature \"" + name + "\" is " + std::string(to_string(text->dtype())) + " " +
                          to_string(text->shape()) + "; " + what + " is a string scalar");
}

}  // namespace

Result<void> check_pixels(ImageSize size, int64_t pixels_max) {
  // No format has a side of 2^31 or more, so this product does not overflow.
  if (size.height * size.width <= pixels_max) return {};
  return data_loss("the image has " + std::to_string(size.height) + " x " + std::to_string(size.width) +
                   " pixels, more than pixels_max, " + std::to_string(pixels_max));
}

Error without_image_library(std::string_view format, std::string_view library, std::string_view package) {
  return failed_precondition("this is about a " + std::string(format) + " image, and this build is without " +
                             std::string(library) + ": install " + std::string(package) + " and build again");
}

Result<Tensor> decode_image(std::string_view bytes, const ImageOptions& options) {
  check_options(options);
  if (bytes.starts_with("\xff\xd8\xff"sv)) return decode_jpeg(bytes, options);
  if (bytes.starts_with("\x89PNG\r\n\x1a\n"sv)) return decode_png(bytes, options);
  return no_image(bytes);
}

Result<Tensor> read_image(Storage& storage, const std::string& path, const ImageOptions& options) {
  const auto in_file = [&path](Error error) {
    return error.message().starts_with(path) ? error : std::move(error).with_context(path);
  };
  const Result<std::string> bytes = read_file(storage, path);
  if (!bytes) return in_file(bytes.error());
  Result<Tensor> image = decode_image(*bytes, options);
  if (!image) return in_file(std::move(image).error());
  return image;
}

MapFn decode_images(ImageOptions options, std::string feature) {
  check_options(options);
  return [options, feature = std::move(feature)](Element element) -> Result<Element> {
    SHOAL_TRY(const std::string bytes, text_of_feature(element.features, feature, "the bytes of an image"));
    SHOAL_TRY(Tensor image, decode_image(bytes, options));
    element.features[feature] = std::move(image);
    return element;
  };
}

MapFn read_images(ImageOptions options, ReadImagesOptions from) {
  check_options(options);
  if (!from.storage) from.storage = make_file_storage();
  return [options, from = std::move(from)](Element element) -> Result<Element> {
    SHOAL_TRY(const std::string path, text_of_feature(element.features, from.feature, "the path of an image"));
    SHOAL_TRY(Tensor image, read_image(*from.storage, path, options));
    element.features[from.feature] = std::move(image);
    return element;
  };
}

}  // namespace shoal::data
