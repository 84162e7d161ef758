// SPDX-License-Identifier: Apache-2.0
#pragma once
/// JPEG and PNG images: from bytes and files to tensors, and from tensors to bytes.
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

/// Pixels from top to bottom, and from left to right.
struct ImageSize {
  int64_t height = 0;
  int64_t width = 0;
};

struct ImageOptions {
  /// Channels of the tensor. 0: as the file has them, which is 1 for grey, 2 for grey and alpha, 3 for colour, 4 for colour
  /// and alpha; a transparent colour (the chunk tRNS of a PNG file) counts as alpha. 1: grey; of a colour image the luma,
  /// (19595 R + 38470 G + 7471 B) / 65536 rounded, or what a JPEG file has as its luma. 3: red, green and blue. 4: these
  /// and alpha, 255 where the file has none. Where alpha is left out, the colours stay as they are in the file. The inks of
  /// a CMYK file become red, green and blue.
  int channels = 0;
  /// The most pixels of an image, height times width as the file has it, >= 1. A file that says that it has more is
  /// DataLoss, before any memory is taken for them. Decoding takes up to 12 bytes for each pixel.
  int64_t pixels_max = int64_t(64) << 20;
  /// For JPEG files: the image is decoded at the smallest of the scales 1/8, 2/8, ... 8/8 at which it has at least this
  /// height and width, which takes less time than to decode all of it and to make it smaller. A side of 0 asks for nothing;
  /// with both 0 the scale is 1. An image that has fewer pixels than this, and every PNG file, is decoded at the scale 1.
  ImageSize at_least = {};
  /// True: the image is turned and mirrored as the orientation in its Exif data says. False: it stays as the file has it,
  /// as most programs for training read it.
  bool apply_orientation = false;
  /// True: a JPEG file that ends early, or has damaged data, gives the pixels that libjpeg makes of it. False: such a file
  /// is DataLoss. The format has no checksum, so not all damage is seen. PNG files have checksums, and damage of them is
  /// always DataLoss.
  bool accept_damage = false;
};

/// The image in `bytes`, a JPEG or PNG file: uint8 [height, width, channels]. Which of them it is, is told by the first
/// bytes. Colour profiles and gamma are not looked at. PNG files of 16 bits become 8, rounded; of an animated one the first
/// image is read. JPEG files are decoded with the accurate integer transform and smooth upsampling, so that libjpeg-turbo
/// gives the same bits on every machine.
///
/// DataLoss for damage, for an image of more than options.pixels_max pixels, and for bytes of another format, whose name is
/// told where it is known. FailedPrecondition where the build has no library for the format. Raises InvalidArgument for
/// options out of range. Sources: ITU-T T.81 (JPEG), by libjpeg; PNG specification, second edition (W3C 2003), by libpng;
/// Exif 2.3, section 4.6.4 (orientation).
Result<Tensor> decode_image(std::string_view bytes, const ImageOptions& options = {});

/// The same for a file, which may be compressed in addition by gzip, zstd or lz4. Errors name the file; those of the
/// storage (NotFound) come as well, and DataLoss for a file of more than 1 GiB.
Result<Tensor> read_image(Storage& storage, const std::string& path, const ImageOptions& options = {});

/// For Dataset::map(): replaces a feature that has the bytes of an image, such as a record of a file, by the image.
/// `feature` is the name of the feature, which is a string scalar; "": the lone one. Errors are decode_image()'s.
/// InvalidArgument where the feature is no such scalar.
MapFn decode_images(ImageOptions options = {}, std::string feature = {});

struct ReadImagesOptions {
  std::string feature = {};  ///< The name of the feature that has the path, a string scalar. "": the lone one.
  std::shared_ptr<Storage> storage = nullptr;  ///< Where the files are. Null: on this machine.
};

/// For Dataset::map(): replaces a feature that has the path of an image file by the image. Errors are read_image()'s, and
/// InvalidArgument where the feature is no string scalar. It has no state, and runs on many threads at once where `storage`
/// does.
///
///   names.map(read_images({.channels = 3}), {.parallel = 4})
MapFn read_images(ImageOptions options = {}, ReadImagesOptions from = {});

/// `image`, uint8 [height, width, channels] with 1 to 4 channels, as a PNG file of 8 bits: grey, grey and alpha, colour,
/// colour and alpha. FailedPrecondition where the build is without libpng. Raises InvalidArgument for another type or
/// shape, and for no pixels.
Result<std::string> encode_png(const Tensor& image);

/// `image`, uint8 [height, width, channels] with 1 or 3 channels, as a JPEG file of this quality, 1 (small) to 100 (fine).
/// Colours have half of the resolution. FailedPrecondition where the build is without libjpeg. Raises InvalidArgument for
/// another type, shape or quality, for no pixels, and for a side of more than 65500 pixels.
Result<std::string> encode_jpeg(const Tensor& image, int quality = 90);

}  // namespace shoal::data
