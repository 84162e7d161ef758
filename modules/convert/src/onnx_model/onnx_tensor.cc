// SPDX-License-Identifier: Apache-2.0
#include "onnx_model/onnx_tensor.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "onnx_model/element_types.h"

namespace shoal::convert::onnx_model {
namespace {

// Raw bytes are little-endian, as are all machines that Shoal runs on.
static_assert(std::endian::native == std::endian::little);

/// The fields of TensorProto, by their numbers in onnx.proto.
struct Fields {
  std::vector<int64_t> dims;                 // 1
  int64_t element_type = 0;                  // 2
  std::vector<float> floats;                 // 4
  std::vector<int64_t> int32s;               // 5, which has elements of type int32, uint8 or bool
  std::vector<std::string> texts;            // 6
  std::vector<int64_t> int64s;               // 7
  std::string name;                          // 8
  std::optional<std::string_view> raw = {};  // 9
};

Result<Fields> read_fields(const Message& message) {
  Fields of;
  SHOAL_TRY_VOID(each_field(message, [&](Field& field) -> Result<void> {
    switch (field.tag()) {
      case 1: field.append_to(of.dims); break;
      case 2: of.element_type = field.number(); break;
      case 3: return message.refused("is a segment of a tensor, which is not known here");
      case 4: field.append_to(of.floats); break;
      case 5: field.append_to(of.int32s); break;
      case 6: of.texts.push_back(field.text()); break;
      case 7: field.append_to(of.int64s); break;
      case 8: of.name = field.text(); break;
      case 9: of.raw = field.bytes(); break;
      case 13:
        return message.refused("has its elements in another file, which is not known here: store them in the file itself");
      case 14:
        if (field.number() != 0) return message.refused("has its elements in another file, which is not known here");
        break;
    }
    return {};
  }));
  return of;
}

/// Converts numbers of type T from the wider type in which a file stores them.
template <class T, class Stored>
Result<Tensor> narrowed(const Message& message, const Shape& shape, const std::vector<Stored>& stored) {
  if (int64_t(stored.size()) != shape.elements()) {
    return message.damaged(message.bytes.data(), "there are " + std::to_string(stored.size()) +
                                                     " elements, and the shape " + to_string(shape) + " has " +
                                                     std::to_string(shape.elements()));
  }
  Tensor tensor(dtype_of_v<T>, shape);
  const auto out = tensor.mutable_as<T>();
  for (size_t i = 0; i < stored.size(); ++i) {
    if constexpr (!std::is_same_v<T, Stored>) {
      const int64_t low = int64_t(std::numeric_limits<T>::min()), high = int64_t(std::numeric_limits<T>::max());
      if (stored[i] < low || stored[i] > high) {
        return message.damaged(message.bytes.data(), "element " + std::to_string(i) + " is " + std::to_string(stored[i]) +
                                                         ", which " + std::string(to_string(dtype_of_v<T>)) +
                                                         " does not hold");
      }
    }
    out[i] = T(stored[i]);
  }
  return tensor;
}

Result<Tensor> from_raw(const Message& message, DType dtype, const Shape& shape, std::string_view raw) {
  if (dtype == DType::kString) return message.damaged(raw.data(), "texts cannot be raw bytes");
  if (raw.size() / size_of(dtype) != size_t(shape.elements()) || raw.size() % size_of(dtype) != 0) {
    return message.damaged(raw.data(), "there are " + std::to_string(raw.size()) + " bytes, and " +
                                           std::to_string(shape.elements()) + " elements of " +
                                           std::string(to_string(dtype)));
  }
  if (dtype == DType::kBool && std::ranges::any_of(raw, [](char byte) { return byte != 0 && byte != 1; }))
    return message.damaged(raw.data(), "a bool is neither 0 nor 1");
  Tensor tensor(dtype, shape);
  if (!raw.empty()) std::memcpy(tensor.mutable_view().data, raw.data(), raw.size());
  return tensor;
}

Result<Tensor> tensor_of(const Message& message, Fields& of, DType dtype, const Shape& shape) {
  if (of.raw) return from_raw(message, dtype, shape, *of.raw);
  switch (dtype) {
    case DType::kFloat32: return narrowed<float>(message, shape, of.floats);
    case DType::kInt64: return narrowed<int64_t>(message, shape, of.int64s);
    case DType::kInt32: return narrowed<int32_t>(message, shape, of.int32s);
    case DType::kUInt8: return narrowed<uint8_t>(message, shape, of.int32s);
    case DType::kBool: return narrowed<bool>(message, shape, of.int32s);
    default:
      if (int64_t(of.texts.size()) != shape.elements())
        return message.damaged(message.bytes.data(), "there are " + std::to_string(of.texts.size()) +
                                                         " texts, and the shape is " + to_string(shape));
      return Tensor::of_strings(shape, std::move(of.texts));
  }
}

}  // namespace

Result<NamedTensor> read_tensor(const Message& message, int64_t elements_max) {
  SHOAL_TRY(Fields of, read_fields(message));
  Message named = message;
  if (!of.name.empty()) named.part += " \"" + of.name + "\"";
  const Result<DType> dtype = dtype_of_element(of.element_type);
  if (!dtype) return named.refused(dtype.error().message());
  if (of.dims.size() > size_t(Shape::kRankMax))
    return named.refused("has " + std::to_string(of.dims.size()) + " axes; at most 8 are known here");
  const Result<Shape> shape = shape_of(of.dims);
  if (!shape) return named.damaged(message.bytes.data(), shape.error().message());
  if (shape->elements() > elements_max) {
    return named.refused("has " + std::to_string(shape->elements()) + " elements, and the limit is " +
                         std::to_string(elements_max));
  }
  SHOAL_TRY(Tensor tensor, tensor_of(named, of, *dtype, *shape));
  return NamedTensor{std::move(of.name), std::move(tensor)};
}

}  // namespace shoal::convert::onnx_model
