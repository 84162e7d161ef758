// SPDX-License-Identifier: Apache-2.0
// A build without converters (SHOAL_CONVERT=OFF) has these functions in place of the converters. They return errors, which
// say that converters are missing.
#include "shoal/base/forever.h"
#include "shoal/convert/cpp.h"
#include "shoal/convert/onnx.h"
#include "shoal/convert/onnx_model.h"

namespace shoal::convert {
namespace onnx_model {
struct Program {};
}  // namespace onnx_model
namespace {

constexpr char kAbsent[] =
    "this build of Shoal writes no ONNX files and no C++: it was configured with SHOAL_CONVERT=OFF, as builds for small "
    "machines are; "
    "convert the export on another machine";

}  // namespace

std::vector<std::string> onnx_obstacles(const TrainedModel&, const OnnxOptions&) { return {kAbsent}; }
Result<OnnxFile> to_onnx(const TrainedModel&, const OnnxOptions&) { return failed_precondition(kAbsent); }
std::vector<std::string> cpp_obstacles(const TrainedModel&, const CppOptions&) { return {kAbsent}; }
Result<CppSource> to_cpp(const TrainedModel&, const CppOptions&) { return failed_precondition(kAbsent); }

Result<OnnxModel> OnnxModel::parse(std::string_view, const OnnxLimits&) { return failed_precondition(kAbsent); }
const std::vector<OnnxPort>& OnnxModel::inputs() const {
  static const std::vector<OnnxPort>& none = forever(std::vector<OnnxPort>());
  return none;
}
const std::vector<OnnxPort>& OnnxModel::outputs() const { return inputs(); }
Result<OnnxModel::Tensors> OnnxModel::run(const Tensors&) const { return failed_precondition(kAbsent); }

}  // namespace shoal::convert
