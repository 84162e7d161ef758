// SPDX-License-Identifier: Apache-2.0
#pragma once
/// IDX files, plain and compressed: the format of MNIST and its successors.
/// Format (big-endian): two zero bytes, a type byte, the rank (one byte), one uint32 size per dimension, the elements.
/// Source: Y. LeCun, C. Cortes, C. Burges, "The MNIST database of handwritten digits".
#include <cstdint>
#include <string>

#include "shoal/base/stop.h"
#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"
#include "shoal/data/dataset.h"

namespace shoal::data {

struct IdxOptions {
  /// The most bytes that the tensor may have. A header that asks for more is refused before memory is allocated.
  uint64_t bytes_max = uint64_t(4) << 30;
  StopToken stop = {};  ///< When this token stops, reading ends with Cancelled.
};

/// Reads a file as one tensor: unsigned bytes as uint8, signed bytes, shorts and ints as int32, floats and doubles as
/// float32. gzip, zstd and lz4 are recognised by the first bytes, whatever the name. Errors name the file: NotFound;
/// DataLoss with offset, expected and found sizes, for a bad header, a truncated or damaged file, or bytes after the end;
/// InvalidArgument over options.bytes_max; FailedPrecondition for a compression that the build does not support.
Result<Tensor> read_idx(Storage& storage, const std::string& path, const IdxOptions& options = {});

/// Labelled images in memory.
struct ImagesAndLabels {
  Tensor images;  ///< float32 [count, height, width, 1], 0 to 1
  Tensor labels;  ///< int64 [count]
  /// A dataset with one element for each image.
  Dataset dataset() const { return Dataset::from_tensor_slices(images, labels); }
};

/// Reads a pair of IDX files: uint8 images [count, height, width] and uint8 labels [count]. Errors are those of read_idx();
/// DataLoss if a file has another type or rank, or if the two counts differ.
Result<ImagesAndLabels> read_idx_images_labels(Storage& storage, const std::string& images_path,
                                               const std::string& labels_path, const IdxOptions& options = {});

}  // namespace shoal::data
