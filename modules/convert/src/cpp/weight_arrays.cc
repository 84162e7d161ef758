// SPDX-License-Identifier: Apache-2.0
#include "cpp/weight_arrays.h"

#include <cstring>

#include "cpp/text.h"
#include "shoal/base/check.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

const Variable& variable_at(const Graph& graph, NodeId node) {
  for (const Variable& variable : graph.variables()) {
    if (variable.node == node) return variable;
  }
  SHOAL_CHECK(false);
}

}  // namespace

std::span<const std::byte> WeightArrays::bytes_of(const Value& value) const {
  const Node& node = model_.graph->node(value.node());
  if (source_of(node.op) == Source::kVariable) {
    const Variable& variable = variable_at(*model_.graph, value.node());
    const std::span<const std::byte> bytes = model_.weights(variable);
    SHOAL_CHECK(bytes.size() == size_t(variable.shape.elements()) * size_of(variable.dtype));
    return bytes;
  }
  const TensorView view = node.constant.view();
  return {view.data, view.bytes()};
}

std::string WeightArrays::add(const Value& value, std::string_view layout, const Shape& shape,
                              std::span<const std::byte> bytes) {
  const std::string origin =
      model_.graph->node(value.node()).name + (layout.empty() ? "" : " (" + std::string(layout) + ")");
  return add_array(
      std::to_string(value.node()) + " " + std::string(layout),
      {.name = {}, .origin = origin, .type = std::string(type_text(value.dtype())), .shape = shape, .bytes = {}}, bytes);
}

std::string WeightArrays::add_made(const std::string& key, std::string_view type, const Shape& shape,
                                   std::span<const std::byte> bytes) {
  return add_array("made " + key, {.name = {}, .origin = key, .type = std::string(type), .shape = shape, .bytes = {}},
                   bytes);
}

std::string WeightArrays::add_array(const std::string& key, Array array, std::span<const std::byte> bytes) {
  const auto [found, fresh] = by_key_.emplace(key, arrays_.size());
  if (!fresh) return arrays_[found->second].name;
  array.name = "w" + std::to_string(arrays_.size());
  array.bytes.assign(bytes.begin(), bytes.end());
  array.offset = file_bytes_;
  file_bytes_ += (bytes.size() + kAlignment - 1) / kAlignment * kAlignment;
  arrays_.push_back(std::move(array));
  return arrays_.back().name;
}

const WeightArrays::Array& WeightArrays::find(const std::string& name) const {
  for (const Array& array : arrays_) {
    if (array.name == name) return array;
  }
  SHOAL_CHECK(false);
}

std::vector<std::byte> WeightArrays::file() const {
  std::vector<std::byte> result(file_bytes_);
  for (size_t i = 0; i < sizeof(kFileMark); ++i) result[i] = std::byte(kFileMark >> (8 * i) & 0xff);
  for (const Array& array : arrays_) {
    if (!array.bytes.empty()) std::memcpy(result.data() + array.offset, array.bytes.data(), array.bytes.size());
  }
  return result;
}

size_t WeightArrays::bytes() const {
  size_t sum = 0;
  for (const Array& array : arrays_) sum += array.bytes.size();
  return sum;
}

}  // namespace shoal::convert::cpp
