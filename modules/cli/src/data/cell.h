// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a record of a file has under one name, whatever the format of the file is.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/tensor.h"

namespace shoal::cli {

struct Cell {
  enum class Kind : uint8_t { kMissing, kNumbers, kTexts, kBytes };

  std::string name;
  Kind kind = Kind::kMissing;
  /// The type as the file has it, or as training would read it: "int64", "float32", "bool", "text", "bytes".
  std::string type = {};
  bool is_list = false;             ///< Whether records may have several values here.
  std::vector<int64_t> shape = {};  ///< Of a list: its length, or the sizes of its axes.
  std::vector<double> numbers = {};
  /// Texts or bytes. For numbers of text files: what the file has in their places.
  std::vector<std::string> texts = {};
  std::optional<Tensor> tensor = {};  ///< The values of a file that has tensors.

  /// An empty one under this name, which keeps its memory.
  void begin(const std::string& new_name) {
    name = new_name;
    kind = Kind::kMissing;
    type.clear();
    is_list = false;
    shape.clear();
    numbers.clear();
    texts.clear();
    tensor.reset();
  }
  size_t values() const { return kind == Kind::kNumbers ? numbers.size() : texts.size(); }
};

/// The values of `tensor` as a cell of this name.
void fill_cell(Cell& cell, const std::string& name, const Tensor& tensor, const std::string& type, bool is_list);

/// Whether `bytes` begin as those of a PNG or JPEG file do.
bool is_image(std::string_view bytes);

}  // namespace shoal::cli
