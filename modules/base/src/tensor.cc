// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/tensor.h"

#include <cstring>
#include <utility>

namespace shoal {
namespace {

size_t checked_bytes(DType dtype, const Shape& shape) {
  int64_t bytes = 0;
  const bool fits = Shape::checked(shape.dims()).has_value() &&
                    !__builtin_mul_overflow(shape.elements(), int64_t(size_of(dtype)), &bytes) &&
                    uint64_t(bytes) <= SIZE_MAX;
  if (!fits) {
    raise(invalid_argument("a tensor of the shape " + to_string(shape) + " and the type " + std::string(to_string(dtype)) +
                           " has more bytes than this machine can address; are its sizes right?"));
  }
  return size_t(bytes);
}

Error is_shared() {
  return failed_precondition("a tensor that shares its storage with a copy cannot be written; write to its clone()");
}

}  // namespace

void raise_type_of_elements(const TensorView& tensor, DType asked) {
  const std::string has(to_string(tensor.dtype)), wants(to_string(asked));
  raise(type_mismatch("a tensor of the shape " + to_string(tensor.shape) + " has elements of type " + has + ", not " +
                      wants + "; read it as " + has + ", or convert its values"));
}

Tensor::Tensor(DType dtype, Shape shape) : dtype_(dtype), shape_(shape) {
  if (dtype == DType::kString) {
    strings_ = std::make_shared<std::vector<std::string>>(size_t(shape.elements()));
  } else {
    buffer_ = Buffer::allocate(checked_bytes(dtype, shape));
  }
}

Tensor::Tensor(DType dtype, Shape shape, Ref<Buffer> buffer, size_t offset)
    : dtype_(dtype), shape_(shape), buffer_(std::move(buffer)), offset_(offset) {
  SHOAL_CHECK(dtype != DType::kString && buffer_);
  SHOAL_CHECK(offset <= buffer_->size() && checked_bytes(dtype, shape) <= buffer_->size() - offset);
}

Tensor Tensor::zeros(DType dtype, Shape shape) {
  Tensor tensor(dtype, shape);
  if (tensor.bytes() > 0) std::memset(tensor.mutable_view().data, 0, tensor.bytes());
  return tensor;
}

Tensor Tensor::of_strings(Shape shape, std::vector<std::string> values) {
  if (int64_t(values.size()) != shape.elements()) raise_count(shape, values.size());
  Tensor tensor(DType::kString, Shape{0});
  tensor.shape_ = shape;
  *tensor.strings_ = std::move(values);
  return tensor;
}

void Tensor::raise_type(DType asked) const {
  if (dtype_ != DType::kString) raise_type_of_elements({dtype_, shape_, nullptr}, asked);
  raise(type_mismatch("a tensor of the shape " + to_string(shape_) + " has elements of type string, not " +
                      std::string(to_string(asked)) + "; read it with strings()"));
}

void Tensor::raise_count(const Shape& shape, size_t values) {
  raise(invalid_argument("a tensor of the shape " + to_string(shape) + " has " + std::to_string(shape.elements()) +
                         " elements, but there are " + std::to_string(values) + " values for it"));
}

void Tensor::raise_no_bytes() { raise(type_mismatch("a tensor of strings has no bytes to view; read it with strings()")); }

void Tensor::raise_no_writing() const {
  if (dtype_ != DType::kString) raise(is_shared());
  raise(type_mismatch("a tensor of strings has no bytes to write; use mutable_strings()"));
}

void Tensor::raise_no_writing_of_strings() const {
  if (dtype_ != DType::kString) raise_type(DType::kString);
  raise(is_shared());
}

const void* Tensor::address() const {
  return dtype_ == DType::kString ? static_cast<const void*>(strings().data()) : view().data;
}

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.elements() != shape_.elements()) raise_count(shape, size_t(shape_.elements()));
  Tensor other = *this;
  other.shape_ = shape;
  return other;
}

Tensor Tensor::clone() const {
  if (!buffer_ && !strings_) return *this;  // Another tensor was move-constructed from this one: there is nothing to copy.
  if (dtype_ == DType::kString) return of_strings(shape_, *strings_);
  Tensor copy(dtype_, shape_);
  if (bytes() > 0) std::memcpy(copy.mutable_view().data, view().data, bytes());
  return copy;
}

}  // namespace shoal
