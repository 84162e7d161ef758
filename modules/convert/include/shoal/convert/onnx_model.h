// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads an ONNX file and computes it slowly, one node after the other, in plain loops. This proves that a file gives what the
/// model gives that it was written from. It shares no code with what writes such files (onnx.h); what an op means comes from the
/// specification of ONNX.
///
/// It knows opset 17 of ONNX and opset 3 of ai.onnx.ml. Of these it knows the ops that to_onnx() writes and a few more, on tensors of
/// float32, int32, int64, uint8, bool and text with at most eight axes; float64 may stand between two Casts. Sums of float32 are
/// made in double.
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
  /// Elements of one tensor.
  int64_t elements_max = int64_t(1) << 28;
  /// Work of one run: elements that are written, products that are added, and bytes of text.
  int64_t work_max = int64_t(1) << 46;
};

/// The size of an axis: a number; or a symbol, which has one size in a run; or neither, which is any size.
struct OnnxDim {
  int64_t size = -1;        ///< -1: it is no number.
  std::string symbol = {};  ///< "": it is no symbol.
};

/// An input or an output of a file.
struct OnnxPort {
  std::string name;
  DType dtype = DType::kFloat32;
  bool has_shape = true;  ///< false: the file does not say how many axes there are.
  std::vector<OnnxDim> dims = {};
};

namespace onnx_model {
struct Program;
}

/// A value: copies share what was read. Calls from several threads do not disturb each other.
class OnnxModel {
 public:
  using Tensors = std::map<std::string, Tensor>;

  /// DataLoss for damaged bytes, naming the byte and the part of the file. InvalidArgument for an op, an opset or a feature that
  /// is not known here, naming it; for names that stand for nothing or for two things; and for more than the limits.
  static Result<OnnxModel> parse(std::string_view bytes, const OnnxLimits& limits = {});

  /// The inputs that run() takes. Inputs for which the file has values are not among them.
  const std::vector<OnnxPort>& inputs() const;
  const std::vector<OnnxPort>& outputs() const;

  /// The outputs by name. InvalidArgument for an input that is missing, is not one of the file's, or has another type or shape
  /// than the file says; where a node cannot be computed, naming node and op; and for an output of another type or shape than
  /// the file says.
  Result<Tensors> run(const Tensors& inputs) const;

 private:
  explicit OnnxModel(std::shared_ptr<const onnx_model::Program> program) : program_(std::move(program)) {}
  std::shared_ptr<const onnx_model::Program> program_;
};

}  // namespace shoal::convert
