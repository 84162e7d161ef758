// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The arrays of an NPY, NPZ or IDX file, row by row, so that arrays that are larger than memory can be looked through.
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/hidden.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/data/file_format.h"

namespace shoal {
class Storage;
}

namespace shoal::data {

/// One array of a file. A thread may use it only while no other thread uses any array of the same file.
class ArrayRows {
 public:
  /// The arrays of the file, whose format is kNpy, kNpz or kIdx, in the order of the file. Their headers are read now. Errors are
  /// those of read_npy(), read_npz() and read_idx().
  static Result<std::vector<ArrayRows>> open(Storage& storage, const std::string& path, FileFormat format);
  ArrayRows(ArrayRows&&) noexcept;
  ArrayRows& operator=(ArrayRows&&) noexcept;
  ~ArrayRows();

  const std::string& name() const;  ///< In an NPZ file; otherwise empty.
  /// The type in the file, by NumPy's names: "float64", "uint8", "S10", "U5".
  const std::string& type() const;
  const Shape& shape() const;
  int64_t rows() const;  ///< The first axis; 1 for a scalar, 0 where rows have no elements.
  /// The next row, by the types of read_npy(), of the shape without its first axis. False behind the last row. A row of more than
  /// 256 MiB is InvalidArgument. An array in Fortran's order, and one of an IDX file, is read as a whole by the first call, and is
  /// InvalidArgument if it has more than 1 GiB. Other errors are those of read_npy(); they name file, array and row.
  Result<bool> next(Tensor& row);

 private:
  struct State;
  explicit ArrayRows(Hidden<State> state);
  Hidden<State> state_;
};

}  // namespace shoal::data
