// SPDX-License-Identifier: Apache-2.0
#pragma once
/// NPY and NPZ files: arrays as NumPy stores them, one in a file (numpy.save), or several by name (numpy.savez,
/// numpy.savez_compressed). Formats: NPY 1.0, 2.0 and 3.0, see NumPy's documentation of numpy.lib.format; an NPZ file is a
/// zip archive of NPY files.
#include <cstdint>
#include <string>

#include "shoal/base/result.h"
#include "shoal/base/stop.h"
#include "shoal/base/tensor.h"
#include "shoal/data/element.h"

namespace shoal {
class Storage;
}

namespace shoal::data {

struct NpyOptions {
  /// The most bytes of the tensor; for read_npz(), of all tensors together. A file that asks for more is refused before
  /// memory is allocated. A text counts as its bytes in the file plus sizeof(std::string).
  uint64_t bytes_max = uint64_t(4) << 30;
  StopToken stop = {};  ///< When this token stops, reading ends with Cancelled.
};

struct NpyRowsOptions {
  /// The most bytes of one row, counted as for NpyOptions::bytes_max, at least 1. A longer row is DataLoss, before memory
  /// is allocated.
  int64_t row_bytes_max = int64_t(256) << 20;
};

/// Reads an NPY file as a tensor of the array's shape, in C order whatever the file's order. NumPy's types become:
///
///   bool                            bool; a byte that is neither 0 nor 1 is DataLoss
///   uint8                           uint8
///   int8, int16, uint16, int32      int32
///   uint32, int64, uint64           int64; a number of 2^63 or more is DataLoss
///   float16, float32, float64       float32; a float64 is rounded to the nearest, beyond the largest float32 to infinity
///   bytes (S)                       string; zeros at the end are taken away, as NumPy does
///   str (U)                         string, in UTF-8, without zeros at the end; a number that is no character is DataLoss
///
/// Numbers may be little-endian or big-endian. gzip, zstd and lz4 are recognised by the first bytes of the file, whatever
/// its name is.
///
/// Errors name the file: NotFound; DataLoss, with the offset, for a damaged header, a truncated file, bytes behind the
/// array, and the values named above, with their index in the order of the file; InvalidArgument for an array over
/// options.bytes_max; FailedPrecondition, with advice, for a file of another format, for arrays of objects, records, times,
/// complex numbers and long doubles, and for more axes than Shape::kRankMax.
Result<Tensor> read_npy(Storage& storage, const std::string& path, const NpyOptions& options = {});

/// Writes `tensor` as an NPY file of version 1.0, little-endian, in C order. It replaces an existing file at once: readers
/// see the old or the new one. A tensor of strings becomes an array of str (U) if all its strings are UTF-8, else of bytes
/// (S). float16 stays float16.
///
/// InvalidArgument for bfloat16, which NumPy does not have; for a string that ends with a zero byte, which NumPy would
/// remove; and for strings of more than 2^29 - 1 characters. Other errors are those of the storage.
Result<void> write_npy(Storage& storage, const std::string& path, const Tensor& tensor);

/// Reads the arrays of an NPZ file by their names: the names in the archive without ".npy" at the end. Arrays become
/// tensors as by read_npy(). Members may be stored or deflated; their checksums are compared.
///
/// Errors are as read_npy's, and name file and member. Also: DataLoss for a damaged archive, for members that overlap and
/// for two of one name; FailedPrecondition for a member whose name does not end in ".npy", for members that are encrypted
/// or compressed otherwise, for archives of several parts, and for deflated members if the build has no zlib.
Result<TensorMap> read_npz(Storage& storage, const std::string& path, const NpyOptions& options = {});

/// Writes an NPZ file as numpy.savez does: members are stored, and dated 1980-01-01, so that equal tensors give equal
/// files.
///
/// InvalidArgument as for write_npy(); for names that are no UTF-8, have a zero byte, or are longer than 65531 bytes; and
/// for a name that equals another name with ".npy" added, since numpy.load would mistake one for the other.
Result<void> write_npz(Storage& storage, const std::string& path, const TensorMap& tensors);

}  // namespace shoal::data
