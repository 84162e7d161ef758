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

/// A tensor of another model and the steps that change its layout. The functions below only record steps: the call that
/// begins training applies them, and raises InvalidArgument with tensor, step and shapes.
class SourceTensor {
 public:
  SourceTensor(const char* name);  // NOLINT
  SourceTensor(std::string name);  // NOLINT

  /// Permutes the axes: axis i of the result is axis axes[i] of this tensor.
  SourceTensor transposed(std::vector<int64_t> axes) const;
  /// The same elements, in the same order, in another shape. If sizes[i] is 0, axis i keeps its size. One size may be -1:
  /// it is then computed from the others.
  SourceTensor reshaped(std::vector<int64_t> sizes) const;
  /// Cuts axis 0 into `count` equal parts and joins those that `order` lists (all or only some). parts(3, {1, 0, 2})
  /// exchanges the first two gates of a recurrent layer.
  SourceTensor parts(int64_t count, std::vector<int64_t> order) const;
  /// This tensor and `next`, joined along axis 0.
  SourceTensor followed_by(SourceTensor next) const;
  /// The sum of this tensor and `other`, which has the same shape.
  SourceTensor plus(SourceTensor other) const;

  /// The tensor's name in the other model. The steps() are applied to this tensor one after the other.
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
  std::vector<int64_t> numbers = {};      ///< kTranspose: axes. kReshape: sizes. kParts: the order of the parts.
  int64_t count = 0;                      ///< kParts: the number of equal parts into which axis 0 is cut.
  std::vector<SourceTensor> others = {};  ///< kJoin, kAdd: one tensor, which is joined or added.
};

}  // namespace shoal
