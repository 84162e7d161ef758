// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One value of a record under one name, whatever the format of the file.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/tensor.h"

namespace shoal::cli {

inline constexpr const char* kJsonType = "json";

struct Cell {
  enum class Kind : uint8_t { kMissing, kNumbers, kTexts, kBytes };

  std::string name;
  Kind kind = Kind::kMissing;
  /// The type in the file, or the type that training would read: "int64", "float32", "bool", "text", "bytes"; kJsonType for a
  /// text that is a JSON value of its own.
  std::string type = {};
  bool is_list = false;             ///< True: a record may have several values under this name.
  std::vector<int64_t> shape = {};  ///< For a list: its length, or the sizes of its axes.
  std::vector<double> numbers = {};
  /// Texts or bytes. For numbers of text files: the text of each number.
  std::vector<std::string> texts = {};
  std::optional<Tensor> tensor = {};  ///< The values, if the file has tensors.

  /// Empties the cell and gives it a name. Keeps its memory for the next values.
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

/// Fills `cell` with the values of `tensor` and this name.
void fill_cell(Cell& cell, const std::string& name, const Tensor& tensor, const std::string& type, bool is_list);

/// Whether `bytes` begin like those of a PNG or JPEG file.
bool is_image(std::string_view bytes);

}  // namespace shoal::cli
