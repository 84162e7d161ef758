// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads an ONNX file and computes it slowly, node by node, in plain loops, to prove that a file predicts the same as
/// the model from which it was written. The code shares nothing with the writer of such files (onnx.h); the meaning of
/// each op comes from the specification of ONNX.
///
/// The reader knows opset 17 of ONNX and opset 3 of ai.onnx.ml: the ops that to_onnx() writes and a few more, on
/// tensors of float32, int32, int64, uint8, bool and text with at most eight axes. Some ops also compute
/// in float64, between a Cast to float64 and a Cast back. Sums of float32 are computed in double.
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"

namespace shoal::convert {

/// Limits for one file. A file that needs more is refused before memory is taken.
struct OnnxLimits {
  int64_t nodes_max = 1'000'000;
  /// The number of elements of one tensor.
  int64_t elements_max = int64_t(1) << 28;
  /// The work of one run: written elements, added products, and bytes of text, all counted together.
  int64_t work_max = int64_t(1) << 46;
};

/// The size of an axis: a number, a symbol, or neither. During one run, a symbol stands for the same size everywhere. With
/// neither, any size is allowed.
struct OnnxDim {
  int64_t size = -1;        ///< -1: the size is no number.
  std::string symbol = {};  ///< The name of the symbol; "" if the size is no symbol.
};

/// An input or an output of the graph in an ONNX file.
struct OnnxPort {
  std::string name;
  DType dtype = DType::kFloat32;
  bool has_shape = true;  ///< false: the file does not say how many axes there are.
  std::vector<OnnxDim> dims = {};
};

namespace onnx_model {
struct Program;
}

/// An ONNX file that can be computed. Copies share the contents of the file. Any number of threads may call run() at once.
class OnnxModel {
 public:
  using Tensors = std::map<std::string, Tensor>;

  /// DataLoss for damaged bytes, naming the byte and the part of the file. InvalidArgument for an unknown op, opset or
  /// feature of ONNX, naming it; for a name that stands for no value or for two; and for a file beyond the limits.
  static Result<OnnxModel> parse(std::string_view bytes, const OnnxLimits& limits = {});

  /// The inputs that run() takes. Inputs for which the file itself has values are left out.
  const std::vector<OnnxPort>& inputs() const;
  const std::vector<OnnxPort>& outputs() const;

  /// Computes the outputs by name. InvalidArgument for an input that is missing, is not one of the file's, or has
  /// another type or shape than the file says; for a node that cannot be computed, naming node and op; and for an
  /// output of another type or shape than the file says.
  Result<Tensors> run(const Tensors& inputs) const;

 private:
  explicit OnnxModel(std::shared_ptr<const onnx_model::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const onnx_model::Program> program_;
};

}  // namespace shoal::convert
