// SPDX-License-Identifier: Apache-2.0
#include "data/cell.h"

#include "shoal/base/half.h"
#include "shoal/base/utf8.h"

namespace shoal::cli {
namespace {

template <class T>
void append_numbers(const Tensor& tensor, std::vector<double>& numbers) {
  const auto* const values = reinterpret_cast<const T*>(tensor.view().data);
  numbers.assign(values, values + tensor.elements());
}

void take_numbers(const Tensor& tensor, std::vector<double>& numbers) {
  switch (tensor.dtype()) {
    case DType::kFloat32: return append_numbers<float>(tensor, numbers);
    case DType::kInt64: return append_numbers<int64_t>(tensor, numbers);
    case DType::kInt32: return append_numbers<int32_t>(tensor, numbers);
    case DType::kUInt8:
    case DType::kBool: return append_numbers<uint8_t>(tensor, numbers);
    case DType::kFloat16:
    case DType::kBFloat16: {
      append_numbers<uint16_t>(tensor, numbers);
      const bool half = tensor.dtype() == DType::kFloat16;
      for (double& number : numbers) number = half ? from_float16(uint16_t(number)) : from_bfloat16(uint16_t(number));
      return;
    }
    case DType::kString: return;
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
