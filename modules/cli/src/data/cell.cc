// SPDX-License-Identifier: Apache-2.0
#include "data/cell.h"

#include <cstring>

#include "shoal/base/half.h"
#include "shoal/base/utf8.h"

namespace shoal::cli {
namespace {

template <class T>
T stored_at(const std::byte* at) {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

/// Converts the element at `at` to double. One loop that calls this function takes less code than a loop for each type.
double number_at(DType dtype, const std::byte* at) {
  switch (dtype) {
    case DType::kFloat32: return stored_at<float>(at);
    case DType::kInt64: return double(stored_at<int64_t>(at));
    case DType::kInt32: return stored_at<int32_t>(at);
    case DType::kUInt8:
    case DType::kBool: return stored_at<uint8_t>(at);
    case DType::kFloat16: return from_float16(stored_at<uint16_t>(at));
    case DType::kBFloat16: return from_bfloat16(stored_at<uint16_t>(at));
    case DType::kString: break;
  }
  return 0;
}

void take_numbers(const Tensor& tensor, std::vector<double>& numbers) {
  numbers.resize(size_t(tensor.elements()));
  const size_t width = size_of(tensor.dtype());
  const std::byte* at = tensor.view().data;
  for (double& number : numbers) {
    number = number_at(tensor.dtype(), at);
    at += width;
  }
}

}  // namespace

void fill_cell(Cell& cell, const std::string& name, const Tensor& tensor, const std::string& type, bool is_list) {
  cell.begin(name);
  cell.is_list = is_list;
  if (is_list) cell.shape.assign(tensor.shape().dims().begin(), tensor.shape().dims().end());
  cell.type = type;
  if (tensor.dtype() != DType::kString) {
    cell.kind = Cell::Kind::kNumbers;
    take_numbers(tensor, cell.numbers);
    cell.tensor = tensor;
    return;
  }
  cell.kind = Cell::Kind::kTexts;
  cell.texts = tensor.strings();
  for (const std::string& text : cell.texts) {
    if (!check_utf8(text, "", "")) cell.kind = Cell::Kind::kBytes;
  }
  if (type.empty()) cell.type = cell.kind == Cell::Kind::kBytes ? "bytes" : "text";
}

bool is_image(std::string_view bytes) { return bytes.starts_with("\x89PNG\r\n") || bytes.starts_with("\xff\xd8\xff"); }

}  // namespace shoal::cli
