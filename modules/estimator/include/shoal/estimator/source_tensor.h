// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Names a tensor of another model, and the steps that change its layout to that of the variable.
///
///   SourceTensor("fc1.weight")                                       as it is
///   SourceTensor("dense/kernel").transposed({1, 0})                  [inputs, units] becomes [units, inputs]
///   SourceTensor("bias_ih_l0").plus("bias_hh_l0")                    the sum of two
///
/// The steps are done in the order in which they are called. Whole layers of PyTorch and Keras: layer_weights.h.
#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

struct SourceTensorStep;

/// A value. Its functions check nothing: the call that begins training does, and names tensor, step and shapes
/// (InvalidArgument).
class SourceTensor {
 public:
  SourceTensor(const char* name);  // NOLINT
  SourceTensor(std::string name);  // NOLINT

  /// Axis i of the result is axis axes[i].
  SourceTensor transposed(std::vector<int64_t> axes) const;
  /// The same elements, in the same order, under another shape. Size 0: as many as the axis of that place has; -1, at most
  /// once: what is left.
  SourceTensor reshaped(std::vector<int64_t> sizes) const;
  /// Cuts axis 0 into `count` equal parts, and joins those in `order`, which may be fewer. {1, 0, 2} of 3 exchanges the first
  /// two gates of a recurrent layer.
  SourceTensor parts(int64_t count, std::vector<int64_t> order) const;
  /// The two, joined along axis 0.
  SourceTensor followed_by(SourceTensor next) const;
  /// The sum of the two, of one shape.
  SourceTensor plus(SourceTensor other) const;

  /// The tensor that the first step takes.
  const std::string& name() const { return name_; }
  const std::vector<SourceTensorStep>& steps() const { return steps_; }

 private:
  SourceTensor with(SourceTensorStep step) const;

  std::string name_;
  std::vector<SourceTensorStep> steps_;
};

struct SourceTensorStep {
  enum class Kind : uint8_t { kTranspose, kReshape, kParts, kJoin, kAdd };
  Kind kind = Kind::kReshape;
  std::vector<int64_t> numbers = {};      ///< Axes, sizes, or the order of parts.
  int64_t count = 0;                      ///< Parts.
  std::vector<SourceTensor> others = {};  ///< The other one, to join or to add.
};

}  // namespace shoal
