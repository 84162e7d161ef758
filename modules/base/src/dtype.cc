// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/dtype.h"

#include <array>

#include "shoal/base/check.h"

namespace shoal {
namespace {

struct Row {
  DType dtype;
  size_t bytes;
  std::string_view name;
};
constexpr std::array<Row, 8> kRows{{
    {DType::kFloat32, 4, "float32"},
    {DType::kInt32, 4, "int32"},
    {DType::kInt64, 8, "int64"},
    {DType::kUInt8, 1, "uint8"},
    {DType::kBool, 1, "bool"},
    {DType::kBFloat16, 2, "bfloat16"},
    {DType::kFloat16, 2, "float16"},
    {DType::kString, 0, "string"},
}};

const Row& row_of(DType dtype) {
  const size_t index = size_t(dtype) - 1;  // An invalid dtype of 0 wraps round and fails the check.
  SHOAL_CHECK(index < kRows.size());
  return kRows[index];
}

}  // namespace

size_t size_of(DType dtype) { return row_of(dtype).bytes; }
std::string_view to_string(DType dtype) { return row_of(dtype).name; }

std::optional<DType> dtype_from_string(std::string_view name) {
  for (const Row& row : kRows) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

}  // namespace shoal
