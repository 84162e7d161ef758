// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Dense row-major arrays: Tensor owns its elements, TensorView borrows them.
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
/// Raises TypeMismatch: the caller asked for the elements of `tensor` as the type `asked`.
[[noreturn]] void raise_type_of_elements(const TensorView& tensor, DType asked);

/// A borrowed, read-only dense array. Never kString.
struct TensorView {
  DType dtype = DType::kFloat32;
  Shape shape;
  const std::byte* data = nullptr;

  int64_t elements() const { return shape.elements(); }
  size_t bytes() const { return size_t(elements()) * size_of(dtype); }
  /// All elements. Raises TypeMismatch if they are not of type T, since kernels, hooks and metrics of users call this, too.
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
  /// All elements. Raises TypeMismatch if they are not of type T.
  template <class T>
  std::span<T> as() const {
    if (dtype != dtype_of_v<T>) [[unlikely]]
      raise_type_of_elements(*this, dtype_of_v<T>);
    return {reinterpret_cast<T*>(data), size_t(elements())};
  }
};

/// An owned dense array. Copies share storage; a tensor that shares its storage cannot be written.
/// kString tensors hold std::string elements and exist only in datasets.
///
/// Mistakes in the use of a tensor are raised, since functions of users (map, filter, metrics) make them: TypeMismatch for
/// elements asked for as a wrong type; InvalidArgument for values, or a shape, with a wrong number of elements;
/// FailedPrecondition for writing shared storage.
class Tensor {
 public:
  Tensor() : Tensor(DType::kFloat32, Shape{0}) {}
  /// Storage for `shape` with undefined contents (strings: empty). Raises InvalidArgument if the size in bytes exceeds what
  /// this machine can address.
  Tensor(DType dtype, Shape shape);
  /// A tensor inside `buffer`, which has at least the bytes of `shape` from `offset` on.
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
  /// The address of the elements, of whatever type. Two tensors that share their storage have the same address.
  const void* address() const;
  /// Raises FailedPrecondition if another tensor shares the storage, and TypeMismatch for strings.
  MutableTensorView mutable_view() {
    if (dtype_ == DType::kString || !unique()) [[unlikely]]
      raise_no_writing();
    return {dtype_, shape_, buffer_->data() + offset_};
  }
  /// True if this tensor may be written: no other tensor shares its storage.
  bool unique() const {
    // Only one dataset stage at a time uses a tensor of strings, so for strings use_count(), which is relaxed, suffices.
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

  /// A tensor with these elements and another shape, which must have the same number of elements.
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
