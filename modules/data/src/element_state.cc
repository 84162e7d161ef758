// SPDX-License-Identifier: Apache-2.0
#include "element_state.h"

#include <cstring>

#include "state.h"

namespace shoal::data {
namespace {

void write_tensors(const TensorMap& tensors, StateWriter& out) {
  out.number(tensors.size());
  for (const auto& [name, tensor] : tensors) {
    out.text(name);
    out.text(to_string(tensor.dtype()));
    out.number(uint64_t(tensor.shape().rank()));
    for (const int64_t dim : tensor.shape().dims()) out.number(uint64_t(dim));
    if (tensor.dtype() == DType::kString) {
      for (const std::string& text : tensor.strings()) out.text(text);
    } else {
      out.raw({reinterpret_cast<const char*>(tensor.view().data), tensor.bytes()});
    }
  }
}

Result<Tensor> read_tensor(StateReader& in) {
  SHOAL_TRY(const std::string_view name, in.text());
  const std::optional<DType> dtype = dtype_from_string(name);
  SHOAL_TRY(const int64_t rank, in.count(Shape::kRankMax));
  std::vector<int64_t> dims;
  for (int64_t axis = 0; axis < rank; ++axis) {
    SHOAL_TRY(const int64_t dim, in.count());
    dims.push_back(dim);
  }
  const Result<Shape> shape = Shape::checked(dims);
  // Every element takes at least one byte. So if the shape has more elements than `in` has bytes left, `in` is damaged.
  if (!dtype || !shape || uint64_t(shape->elements()) > in.left()) return damaged_position();
  if (*dtype == DType::kString) {
    std::vector<std::string> texts;
    for (int64_t i = 0; i < shape->elements(); ++i) {
      SHOAL_TRY(const std::string_view text, in.text());
      texts.emplace_back(text);
    }
    return Tensor::of_strings(*shape, std::move(texts));
  }
  SHOAL_TRY(const std::string_view bytes, in.raw(size_t(shape->elements()) * size_of(*dtype)));
  Tensor tensor(*dtype, *shape);
  if (!bytes.empty()) std::memcpy(tensor.mutable_view().data, bytes.data(), bytes.size());
  return tensor;
}

Result<TensorMap> read_tensors(StateReader& in) {
  TensorMap tensors;
  SHOAL_TRY(const int64_t count, in.count());
  for (int64_t i = 0; i < count; ++i) {
    SHOAL_TRY(const std::string_view name, in.text());
    SHOAL_TRY(Tensor tensor, read_tensor(in));
    tensors.set(std::string(name), std::move(tensor));
  }
  return tensors;
}

}  // namespace

void write_element(const Element& element, std::string& out) {
  StateWriter writer(out);
  write_tensors(element.features, writer);
  write_tensors(element.labels, writer);
}

Result<Element> read_element(std::string_view bytes) {
  StateReader in(bytes);
  Element element;
  SHOAL_TRY(element.features, read_tensors(in));
  SHOAL_TRY(element.labels, read_tensors(in));
  if (!in.at_end()) return damaged_position();
  return element;
}

}  // namespace shoal::data
