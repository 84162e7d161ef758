// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense row-major arrays: owned (Tensor) and borrowed (TensorView).
#include <cstring>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/dtype.h"
#include "shoal/base/shape.h"

namespace shoal {

struct TensorView;
/// Raises TypeMismatch: the elements of `tensor` are asked for as `asked`.
[[noreturn]] void raise_type_of_elements(const TensorView& tensor, DType asked);

/// A borrowed, read-only dense array. Never kString.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  const std::byte* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype); }
  /// All elements. Raises TypeMismatch where they are of another type, since kernels, hooks and metrics of users ask, too.
  template <class T>
  std::span<const T> as() const {
    if (dtype != dtype_of_v<T>) [[unlikely]]
      raise_type_of_elements(*this, dtype_of_v<T>);
    return {reinterpret_cast<const T*>(data), size_t(elements())};
  }
};

/// A borrowed, writable dense array.
struct MutableTensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  std::byte* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype); }
  operator TensorView() const { return {dtype, shape, data}; }
  /// As TensorView::as().
  template <class T>
  std::span<T> as() const {
    if (dtype != dtype_of_v<T>) [[unlikely]]
      raise_type_of_elements(*this, dtype_of_v<T>);
    return {reinterpret_cast<T*>(data), size_t(elements())};
  }
};

/// An owned dense array. Copies share storage; whoever shares may no longer write.
/// kString tensors hold std::string elements and exist only in datasets.
///
/// Mistakes in their use are raised, since functions of users (map, filter, metrics) make them: TypeMismatch for elements
/// asked for as another type than they have; InvalidArgument for values, or a shape, of another number of elements;
/// FailedPrecondition for writing where storage is shared.
class Tensor {
 public:
  Tensor() : Tensor(DType::kFloat32, Shape{0}) {}
  /// Storage for `shape`, contents undefined (strings: empty). Raises InvalidArgument where its bytes are more than this machine
  /// can count.
  Tensor(DType dtype, Shape shape);
  /// A tensor in `buffer`, which holds at least the bytes of `shape` from `offset`.
  Tensor(DType dtype, Shape shape, Ref<Buffer> buffer, size_t offset = 0);

  template <class T>
  static Tensor of(Shape shape, std::span<const T> values);
  template <class T>
  static Tensor of(Shape shape, std::initializer_list<T> values) {
    return of<T>(shape, std::span<const T>(values.begin(), values.size()));
  }
  template <class T>
  static Tensor scalar(T value) {
    return of<T>(Shape{}, {value});
  }
  static Tensor zeros(DType dtype, Shape shape);
  static Tensor of_strings(Shape shape, std::vector<std::string> values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  int64_t elements() const { return shape_.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype_); }

  template <class T>
  std::span<const T> as() const {
    if (dtype_ != dtype_of_v<T>) raise_type(dtype_of_v<T>);
    return view().as<T>();
  }
  template <class T>
  std::span<T> mutable_as() {
    if (dtype_ != dtype_of_v<T>) raise_type(dtype_of_v<T>);
    return mutable_view().as<T>();
  }
  /// Raises TypeMismatch for strings.
  TensorView view() const {
    if (dtype_ == DType::kString) [[unlikely]]
      raise_no_bytes();
    return {dtype_, shape_, std::as_const(*buffer_).data() + offset_};
  }
  /// Where the elements lie, of any type: two tensors that share their storage have one address.
  const void* address() const;
  /// Nobody else may share the storage. Raises TypeMismatch for strings.
  MutableTensorView mutable_view() {
    if (dtype_ == DType::kString || !unique()) [[unlikely]]
      raise_no_writing();
    return {dtype_, shape_, buffer_->data() + offset_};
  }
  /// True if this tensor may be written: its storage has no other holder.
  bool unique() const {
    // Strings belong to one dataset stage at a time, so a relaxed count is enough for them.
    return dtype_ == DType::kString ? strings_.use_count() == 1 : buffer_ && buffer_->unique();
  }

  const std::vector<std::string>& strings() const {
    if (dtype_ != DType::kString) [[unlikely]]
      raise_type(DType::kString);
    return *strings_;
  }
  std::vector<std::string>& mutable_strings() {
    if (dtype_ != DType::kString || !unique()) [[unlikely]]
      raise_no_writing_of_strings();
    return *strings_;
  }

  /// The same elements under another shape of as many elements.
  Tensor reshaped(Shape shape) const;
  Tensor clone() const;

 private:
  [[noreturn]] void raise_type(DType asked) const;
  [[noreturn]] static void raise_no_bytes();
  [[noreturn]] void raise_no_writing() const;
  [[noreturn]] void raise_no_writing_of_strings() const;
  [[noreturn]] static void raise_count(const Shape& shape, size_t values);

  DType dtype_;
  Shape shape_;
  Ref<Buffer> buffer_;
  size_t offset_ = 0;
  std::shared_ptr<std::vector<std::string>> strings_;
};

template <class T>
Tensor Tensor::of(Shape shape, std::span<const T> values) {
  if (int64_t(values.size()) != shape.elements()) raise_count(shape, values.size());
  Tensor tensor(dtype_of_v<T>, shape);
  if (!values.empty()) std::memcpy(tensor.mutable_view().data, values.data(), values.size_bytes());
  return tensor;
}

}  // namespace shoal
