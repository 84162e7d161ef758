// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the arrays of an NPY, NPZ or IDX file row by row, so that a program can go through arrays larger than memory.
#include <cstdint>
#include <optional>
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
  /// Opens a file, whose format is kNpy, kNpz or kIdx, and reads the headers of its arrays; reads an IDX file as a whole.
  /// Returns the arrays in the order of the file. Errors are those of read_npy(), read_npz() and read_idx().
  static Result<std::vector<ArrayRows>> open(Storage& storage, const std::string& path, FileFormat format);
  ArrayRows(ArrayRows&&) noexcept;
  ArrayRows& operator=(ArrayRows&&) noexcept;
  ~ArrayRows();

  const std::string& name() const;  ///< The array's name in an NPZ file; empty for other files.
  /// The type of the array's elements in the file, by NumPy's names: "float64", "uint8", "S10", "U5".
  const std::string& type() const;
  const Shape& shape() const;
  int64_t rows() const;  ///< The size of the first axis; 1 for a scalar, 0 if rows have no elements.
  /// Reads the next row, with the types of read_npy() and the array's shape without its first axis. False after the last.
  /// InvalidArgument for a row over 256 MiB. An array in Fortran's order is read as a whole by the first call, and an IDX
  /// file by open(): InvalidArgument for more than 1 GiB. Other errors are read_npy()'s; they name file, array and row.
  Result<bool> next(Tensor& row);
  /// If bytes of the file were left unread, returns a sentence for a warning. Call it after next() has returned false.
  const std::optional<std::string>& remark() const;

 private:
  struct State;
  explicit ArrayRows(Hidden<State> state);
  Hidden<State> state_;
};

}  // namespace shoal::data
