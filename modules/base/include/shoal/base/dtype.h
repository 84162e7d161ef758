// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Element types of tensors: their names and sizes. half.h converts to and from the 16-bit formats.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace shoal {

/// The type of a tensor's elements. The numbers of the types are stored in checkpoints and sent over the network, so they
/// never change.
enum class DType : uint8_t {
  kFloat32 = 1,
  kInt32 = 2,
  kInt64 = 3,
  kUInt8 = 4,
  kBool = 5,      ///< One byte, 0 or 1.
  kBFloat16 = 6,  ///< Only stores numbers, unless CompileOptions::compute_dtype names it.
  kFloat16 = 7,   ///< For storage only.
  kString = 8,    ///< For datasets only: never inside a graph, a checkpoint or a message.
};

/// Bytes of one element. 0 for kString, whose elements own their memory.
size_t size_of(DType dtype);
/// "float32", "int64", ...
std::string_view to_string(DType dtype);
std::optional<DType> dtype_from_string(std::string_view name);

template <class T>
struct dtype_of {
  static_assert(sizeof(T) == 0,
                "tensors hold float, int32_t, int64_t, uint8_t, bool or std::string: convert to one of them");
};
template <>
struct dtype_of<float> {
  static constexpr DType value = DType::kFloat32;
};
template <>
struct dtype_of<int32_t> {
  static constexpr DType value = DType::kInt32;
};
template <>
struct dtype_of<int64_t> {
  static constexpr DType value = DType::kInt64;
};
template <>
struct dtype_of<uint8_t> {
  static constexpr DType value = DType::kUInt8;
};
template <>
struct dtype_of<bool> {
  static constexpr DType value = DType::kBool;
};
template <>
struct dtype_of<std::string> {
  static constexpr DType value = DType::kString;
};
template <class T>
inline constexpr DType dtype_of_v = dtype_of<T>::value;

}  // namespace shoal
