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
  /// The most bytes of the tensor; of all tensors together for read_npz(). A file that asks for more is refused before
  /// anything is allocated. A text counts with its bytes in the file and sizeof(std::string).
  uint64_t bytes_max = uint64_t(4) << 30;
  StopToken stop = {};  ///< Reading ends with Cancelled when it stops.
};

struct NpyRowsOptions {
  /// The most bytes of one row, counted as NpyOptions::bytes_max; longer rows are DataLoss, before anything is allocated.
  /// At least 1.
  int64_t row_bytes_max = int64_t(256) << 20;
};

/// The array of an NPY file as a tensor of its shape, in C order whatever the order of the file. The types of NumPy become:
///
///   bool                            bool; a byte that is neither 0 nor 1 is DataLoss
///   uint8                           uint8
///   int8, int16, uint16, int32      int32
///   uint32, int64, uint64           int64; a number of 2^63 or more is DataLoss
///   float16, float32, float64       float32; a float64 is rounded to the nearest, beyond the largest float32 to infinity
///   bytes (S)                       string; zeros at the end are taken away, as NumPy does
///   str (U)                         string, in UTF-8; the same of zeros; what is no Unicode character is DataLoss
///
/// Numbers may be little-endian or big-endian. gzip, zstd and lz4 are recognised by the first bytes of the file, whatever
/// its name is.
///
/// Errors name the file: NotFound; DataLoss, with the offset, for a damaged header, a truncated file, bytes behind the
/// array and the values above, which are told with their index in the order of the file; InvalidArgument for an array over
/// options.bytes_max; FailedPrecondition for a file of another format, for arrays of objects, records, times, complex
/// numbers and long doubles, and for more axes than Shape::kRankMax, with what to do.
Result<Tensor> read_npy(Storage& storage, const std::string& path, const NpyOptions& options = {});

/// Writes `tensor` as an NPY file of version 1.0, little-endian, in C order, in the place of a file that is there; readers
/// see the old or the new one. A tensor of strings becomes an array of str (U) if all its strings are UTF-8, else of bytes
/// (S). float16 becomes float16.
///
/// InvalidArgument for bfloat16, which NumPy does not have; for a string that ends with a zero byte, which NumPy takes
/// away; and for strings of more than 2^29 - 1 characters. Otherwise the errors of the storage.
Result<void> write_npy(Storage& storage, const std::string& path, const Tensor& tensor);

/// The arrays of an NPZ file by their names, which are those of the archive without ".npy" at the end. Arrays become
/// tensors as by read_npy(). Members may be stored or deflated; their checksums are compared.
///
/// Errors are as read_npy's, and name file and member. Also: DataLoss for a damaged archive, for members that overlap and
/// for two of one name; FailedPrecondition for what is no NPY file by its name, for members that are encrypted or
/// compressed by another method, for archives of several parts, and for deflated members where the build is without zlib.
Result<TensorMap> read_npz(Storage& storage, const std::string& path, const NpyOptions& options = {});

/// Writes an NPZ file as numpy.savez does: members are stored, and dated 1980-01-01, so that equal tensors give equal
/// files.
///
/// InvalidArgument as write_npy; for names that are no UTF-8, have a zero byte, are longer than 65531 bytes, or are another
/// one's name with ".npy" behind it, which numpy.load would take for that one.
Result<void> write_npz(Storage& storage, const std::string& path, const TensorMap& tensors);

}  // namespace shoal::data
