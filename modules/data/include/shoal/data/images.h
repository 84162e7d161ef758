// SPDX-License-Identifier: Apache-2.0
#pragma once
/// These functions read JPEG and PNG images into tensors, and write tensors as such files.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/data/dataset.h"

namespace shoal {
class Storage;
}  // namespace shoal

namespace shoal::data {

/// The sides of an image: rows from top to bottom, and columns from left to right.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

struct ImageOptions {
  /// The number of channels of the tensor, with these meanings:
  ///   0   the channels of the file: 1 for grey, 2 for grey and alpha, 3 for colours, 4 for colours and alpha. A
  ///       transparent colour of a PNG file (its chunk tRNS) counts as alpha.
  ///   1   grey. A PNG file with colours gives the luma, (19595 red + 38470 green + 7471 blue) / 65536, rounded; a JPEG
  ///       file has a luma of its own.
  ///   3   red, green and blue.
  ///   4   red, green, blue and alpha, which is 255 where the file has no alpha.
  /// Alpha that is left out does not change the colours. The four inks of a CMYK file become red, green and blue.
  int channels = 0;
  /// The most pixels that the image of a file may have (height times width, before any scaling), >= 1. More are DataLoss,
  /// and no memory is taken for them. Decoding takes up to 12 bytes for each pixel.
  int64_t pixels_max = int64_t(64) << 20;
  /// A JPEG file is decoded at the smallest of the scales 1/8, 2/8, ... 8/8 at which it still has this height and this
  /// width, in pixels. That takes less time than to decode the whole image and resize it. 0 asks for no height or no width;
  /// if both are 0, the scale is 1. PNG files, and images that are smaller than this, are decoded at the scale 1.
  ImageSize at_least = {};
  /// True: the image is turned and mirrored as the orientation in its Exif data says. False: it is not, as in Pillow and
  /// torchvision.
  bool apply_orientation = false;
  /// True: a JPEG file that ends early, or has damaged data, gives the pixels that libjpeg makes of it. False: such a file
  /// is DataLoss. The format has no checksum, so not all damage is seen. PNG files have checksums, and damage of them is
  /// always DataLoss.
  bool accept_damage = false;
};

/// Decodes `bytes`, the bytes of a JPEG or PNG file, to uint8 [height, width, channels]. The first bytes tell which of the
/// two formats it is. Colour profiles and gamma have no effect. The values of PNG files of 16 bits are rounded to 8 bits.
/// Of an animated PNG file the first image is read. JPEG files are decoded with the accurate integer transform and
/// smooth upsampling, by which libjpeg-turbo gives the same bits on every machine.
///
/// DataLoss for damage, for an image of more than options.pixels_max pixels, and for bytes of another format, which the
/// error names if it is known. FailedPrecondition if the build has no library for the format. Raises InvalidArgument for
/// options out of range. Sources: ITU-T T.81 (JPEG), by libjpeg; PNG specification, second edition (W3C 2003), by libpng;
/// Exif 2.3, section 4.6.4 (orientation).
Result<Tensor> decode_image(std::string_view bytes, const ImageOptions& options = {});

/// Reads and decodes an image file, which may be compressed by gzip, zstd or lz4 in addition. Errors are those of
/// decode_image() and of the storage (NotFound), and DataLoss for a file of more than 1 GiB. They name the file.
Result<Tensor> read_image(Storage& storage, const std::string& path, const ImageOptions& options = {});

/// Makes a function for Dataset::map() that replaces the bytes of an image file, such as a record of tf_records(), by the
/// image. The bytes are the feature called `feature`, a string scalar; "": the only feature, without a name. Errors are
/// those of decode_image(), and InvalidArgument if the feature is no string scalar.
MapFn decode_images(ImageOptions options = {}, std::string feature = {});

struct ReadImagesOptions {
  std::string feature = {};  ///< The feature that has the path, a string scalar. "": the only feature, without a name.
  std::shared_ptr<Storage> storage = nullptr;  ///< The storage of the files. Null: this machine.
};

/// Makes a function for Dataset::map() that replaces the path of an image file by the image. Errors are those of
/// read_image(), and InvalidArgument where the feature is no string scalar. Many threads may call the function at once if
/// they may use `storage` at once.
///
///   names.map(read_images({.channels = 3}), {.parallel = 4})
MapFn read_images(ImageOptions options = {}, ReadImagesOptions from = {});

/// Writes `image`, uint8 [height, width, channels], as a PNG file of 8 bits. 1 channel is grey, 2 are grey and alpha, 3 are
/// colours, 4 are colours and alpha. FailedPrecondition if the build has no libpng. Raises InvalidArgument for another type
/// or shape, and for an image without pixels.
Result<std::string> encode_png(const Tensor& image);

/// Writes `image`, uint8 [height, width, channels] with 1 or 3 channels, as a JPEG file. The quality is 1 (a small file) to
/// 100. Colours have half of the resolution in both directions. FailedPrecondition if the build has no libjpeg. Raises
/// InvalidArgument for another type, shape or quality, for no pixels, and for a side of more than 65500 pixels.
Result<std::string> encode_jpeg(const Tensor& image, int quality = 90);

}  // namespace shoal::data
