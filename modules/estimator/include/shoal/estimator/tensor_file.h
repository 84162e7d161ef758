// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file of named tensors that another program wrote: what a warm start takes weights from beside checkpoints and exports,
/// and what `shoal checkpoint show` prints.
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

/// One thread at a time. The storage outlives it.
class TensorFile {
 public:
  struct Entry {
    std::string name;
    std::string file_dtype;      ///< The type as messages and `shoal` name it: "F16" of safetensors, "float32" of NPZ.
    std::optional<DType> dtype;  ///< The type of what read() gives. None: read() refuses it.
    Shape shape;
  };

  /// Opens a safetensors file, the index of several ("model.safetensors.index.json", whose files stand beside it), or an NPZ
  /// file, which is read as a whole (checkpoint/safetensors.h and data/npy.h say which types there are). The first bytes say
  /// which it is.
  ///
  /// Errors name the file: NotFound; DataLoss, with the offset, for a damaged one; FailedPrecondition for a file of another
  /// format, with what to do where it is one that PyTorch or Keras writes.
  static Result<std::unique_ptr<TensorFile>> open(Storage& storage, const std::string& path);

  virtual ~TensorFile() = default;
  /// All tensors, in the order of their names (bytes).
  const std::vector<Entry>& tensors() const { return tensors_; }
  /// The tensor of that name. Null if there is none.
  const Entry* find(std::string_view name) const;
  /// NotFound for a name that is not among tensors(). Other errors: as the formats' readers.
  virtual Result<Tensor> read(const std::string& name) const = 0;

 protected:
  std::vector<Entry> tensors_;  // Sorted by name.
};

}  // namespace shoal
