// SPDX-License-Identifier: Apache-2.0
// An ONNX file. One that is understood is computed, on small inputs as it asks for them; limits keep that short.
#include <algorithm>

#include "shoal/base/check.h"
#include "shoal/convert/onnx_model.h"
#include "target.h"

namespace shoal::convert {
namespace {

constexpr int64_t kSizeMax = 6;

/// The sizes that the file asks for, 2 where it leaves them open. Too large ones become smaller, which is refused.
Shape shape_of(const OnnxPort& port) {
  std::vector<int64_t> sizes;
  for (const OnnxDim& dim : port.dims) sizes.push_back(dim.size < 0 ? 2 : std::min(dim.size, kSizeMax));
  sizes.resize(std::min(sizes.size(), size_t(4)));
  return Shape(sizes);
}

Tensor tensor_of(const OnnxPort& port) {
  const Shape shape = shape_of(port);
  if (port.dtype == DType::kString)
    return Tensor::of_strings(shape, std::vector<std::string>(size_t(shape.elements()), "Ulm"));
  Tensor tensor = Tensor::zeros(port.dtype, shape);
  const auto count = size_t(shape.elements());
  for (size_t i = 0; i < count; ++i) {
    if (port.dtype == DType::kFloat32) tensor.mutable_as<float>()[i] = 0.25f * float(i) - 1;
    if (port.dtype == DType::kInt64) tensor.mutable_as<int64_t>()[i] = int64_t(i % 3);
    if (port.dtype == DType::kInt32) tensor.mutable_as<int32_t>()[i] = int32_t(i % 3);
    if (port.dtype == DType::kUInt8) tensor.mutable_as<uint8_t>()[i] = uint8_t(i);
    if (port.dtype == DType::kBool) tensor.mutable_as<bool>()[i] = i % 2 == 1;
  }
  return tensor;
}

}  // namespace
}  // namespace shoal::convert

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::convert;
  constexpr OnnxLimits kLimits{.nodes_max = 100, .elements_max = 4096, .work_max = 100'000};
  const Result<OnnxModel> model = OnnxModel::parse(fuzz::Input(data, size).text(), kLimits);
  if (!model) {
    const ErrorKind kind = model.error().kind();
    SHOAL_CHECK(kind == ErrorKind::kDataLoss || kind == ErrorKind::kInvalidArgument);
    fuzz::touch(model.error().message());
    return 0;
  }
  OnnxModel::Tensors inputs;
  for (const OnnxPort& input : model->inputs()) inputs.emplace(input.name, tensor_of(input));
  const Result<OnnxModel::Tensors> outputs = model->run(inputs);
  if (!outputs) {
    SHOAL_CHECK(outputs.error().kind() == ErrorKind::kInvalidArgument);
    fuzz::touch(outputs.error().message());
    return 0;
  }
  SHOAL_CHECK(outputs->size() == model->outputs().size());
  for (const auto& [name, tensor] : *outputs) {
    if (tensor.dtype() == DType::kString) {
      for (const std::string& text : tensor.strings()) fuzz::touch(text);
    } else if (tensor.bytes() > 0) {
      fuzz::touch(std::span(tensor.view().data, tensor.bytes()));
    }
  }
  return 0;
}
