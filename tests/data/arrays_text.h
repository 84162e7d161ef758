// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tensors as numpy_arrays.py prints arrays, and NPY files that NumPy would not write.
#include <bit>
#include <map>
#include <sstream>
#include <string>

#include "shoal/base/record_framing.h"
#include "shoal/base/tensor.h"
#include "shoal/data/element.h"

namespace shoal::data {

inline std::string hexadecimal_of(const std::string& text) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string shown;
  for (const char c : text) shown += {kDigits[uint8_t(c) >> 4], kDigits[uint8_t(c) & 15]};
  return shown.empty() ? "-" : shown;
}

inline std::string element_text(const Tensor& tensor, size_t i) {
  switch (tensor.dtype()) {
    case DType::kString: return hexadecimal_of(tensor.strings()[i]);
    case DType::kFloat32: return std::to_string(std::bit_cast<uint32_t>(tensor.as<float>()[i]));
    case DType::kInt32: return std::to_string(tensor.as<int32_t>()[i]);
    case DType::kInt64: return std::to_string(tensor.as<int64_t>()[i]);
    default: return std::to_string(int(tensor.view().data[i]));
  }
}

/// "int32 [2] 7 8": a float as the bits that it has, a text in hexadecimal.
inline std::string array_text(const Tensor& tensor) {
  std::string text = std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape()) + " ";
  for (size_t i = 0; i < size_t(tensor.elements()); ++i) text += (i > 0 ? " " : "") + element_text(tensor, i);
  return text;
}

inline std::string array_text(const TensorMap& tensors) {
  std::string text;
  for (const auto& [name, tensor] : tensors) text += name + "\t" + array_text(tensor) + "\n";
  return text;
}

/// An NPY file of version 1.0 with the text `header` and these bytes.
inline std::string npy_of(const std::string& header, const std::string& bytes) {
  std::string file("\x93NUMPY\x01\0", 8);
  append_little_endian(file, uint16_t(header.size()));
  return file + header + bytes;
}
/// The same of an array of a type and a shape such as "<f4" and "(2, 3)".
inline std::string npy_of(const std::string& descr, const std::string& shape, const std::string& bytes) {
  return npy_of("{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }\n", bytes);
}

/// Lines of a name, a tab and a text.
inline std::map<std::string, std::string> named_lines(const std::string& output) {
  std::map<std::string, std::string> lines;
  std::istringstream stream(output);
  for (std::string line; std::getline(stream, line);) {
    const size_t tab = line.find('\t');
    if (tab != std::string::npos) lines[line.substr(0, tab)] = line.substr(tab + 1);
  }
  return lines;
}

}  // namespace shoal::data
