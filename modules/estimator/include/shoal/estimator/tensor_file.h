// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file of named tensors that another program wrote. A warm start takes weights from such files as it does from
/// checkpoints and exports, and `shoal checkpoint show` prints them.
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/shape.h"
#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"

namespace shoal {

/// An open file of tensors. One thread at a time may use it. The storage must outlive it.
class TensorFile {
 public:
  struct Entry {
    std::string name;
    std::string file_dtype;      ///< The element type in the file: "F16" in safetensors; "float64", "U5" (NumPy) in NPZ.
    std::optional<DType> dtype;  ///< The type of the tensor that read() returns. None: read() refuses the tensor.
    Shape shape;
  };

  /// Opens a safetensors file, an index that lists several of them ("model.safetensors.index.json"; the files have to be in
  /// the same folder), or an NPZ file, which is read as a whole. (checkpoint/safetensors.h and data/npy.h list the element
  /// types.) The first bytes tell which format it is.
  ///
  /// Errors name the file: NotFound; DataLoss, with the offset, for a damaged one; FailedPrecondition for a file of another
  /// format, with advice for formats of PyTorch and Keras.
  static Result<std::unique_ptr<TensorFile>> open(Storage& storage, const std::string& path);

  virtual ~TensorFile() = default;
  /// All tensors, sorted by the bytes of their names.
  const std::vector<Entry>& tensors() const { return tensors_; }
  /// The tensor of that name; null if there is none.
  const Entry* find(std::string_view name) const;
  /// Reads a tensor. NotFound for a name that is not among tensors(). Other errors: those of the format's reader.
  virtual Result<Tensor> read(const std::string& name) const = 0;

 protected:
  std::vector<Entry> tensors_;  // Sorted by name.
};

}  // namespace shoal
