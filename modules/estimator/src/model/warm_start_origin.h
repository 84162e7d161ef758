// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The source of the tensors of a warm start: a checkpoint (an export is one too), or a file of another program.
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/source_tensor.h"
#include "shoal/base/environment.h"
#include "shoal/checkpoint/reader.h"

namespace shoal {

/// The checkpoint or file from which a warm start takes tensors, opened for reading. One thread at a time may use it.
class WarmStartOrigin {
 public:
  /// Opens the source that WarmStart::from names, and reads it once, so that damage is found before any part of it is used.
  /// Errors: see WarmStart.
  static Result<std::unique_ptr<WarmStartOrigin>> open(Environment& env, const std::string& from);

  virtual ~WarmStartOrigin() = default;
  virtual std::vector<std::string> names() const = 0;
  /// The type of a tensor; none for a name that is not among names(). FailedPrecondition for a tensor that cannot be read.
  virtual Result<std::optional<TensorType>> find(const std::string& name) const = 0;
  virtual Result<Tensor> read(const std::string& name) const = 0;
  /// Reads rows [row_begin, row_end) of a tensor into `out`, which has their size.
  virtual Result<void> read_rows(const std::string& name, int64_t row_begin, int64_t row_end,
                                 std::span<std::byte> out) const;
  /// The checkpoint that is the source; null if the source is a file of another program.
  virtual const checkpoint::Reader* checkpoint() const { return nullptr; }
  virtual std::string title() const = 0;  ///< Names the source in messages: "checkpoint m1/model.ckpt-4", "file cnn.npz".
  virtual std::string noun() const = 0;   ///< The word for one of names() in sentences: "variable", "tensor".
};

}  // namespace shoal
