// SPDX-License-Identifier: Apache-2.0
#include "onnx/lowering.h"

#include "shoal/base/check.h"
#include "shoal/base/forever.h"

namespace shoal::convert {
namespace {

using Permutation = std::vector<int64_t>;

}  // namespace

const std::string& OnnxValues::plain(Value value) {
  OnnxNames& of = names.at({value.node(), value.output()});
  if (of.plain.empty()) of.plain = onnx.add("Transpose", {of.channels_first}, {{"perm", Permutation{0, 2, 3, 1}}});
  return of.plain;
}

const std::string& OnnxValues::channels_first(Value value) {
  OnnxNames& of = names.at({value.node(), value.output()});
  if (of.channels_first.empty()) of.channels_first = onnx.add("Transpose", {of.plain}, {{"perm", Permutation{0, 3, 1, 2}}});
  return of.channels_first;
}

std::string Lowering::to(const std::string& value, DType dtype) {
  return add("Cast", {value}, {{"to", int64_t(value_or_raise(onnx_element_type(dtype)))}});
}

std::string Lowering::transpose(const std::string& value, std::vector<int64_t> permutation) {
  return add("Transpose", {value}, {{"perm", std::move(permutation)}});
}

std::string Lowering::sum(const std::string& value, const std::vector<int64_t>& over, bool keep) {
  return add("ReduceSum", {value, ints(over)}, {{"keepdims", int64_t(keep)}});
}

std::string Lowering::sizes(const DimShape& shape) {
  std::vector<std::string> parts;
  std::vector<int64_t> numbers;
  const auto flush = [&] {
    if (!numbers.empty()) parts.push_back(ints(numbers));
    numbers.clear();
  };
  for (const Dim& dim : shape.dims()) {
    if (!dim.is_symbol()) {
      numbers.push_back(dim.size());
      continue;
    }
    flush();
    const auto place = values_.axes.find(dim.name());
    SHOAL_CHECK(place != values_.axes.end());  // Each symbolic size is that of an axis of some input.
    const int64_t axis = place->second.second;
    parts.push_back(add("Shape", {place->second.first}, {{"start", axis}, {"end", axis + 1}}));
  }
  flush();
  if (parts.empty()) return ints({});
  return parts.size() == 1 ? parts[0] : add("Concat", parts, {{"axis", int64_t(0)}});
}

std::string Lowering::reshape(const std::string& value, const DimShape& shape) {
  std::vector<int64_t> numbers;
  int symbols = 0;
  bool empty = false;
  for (const Dim& dim : shape.dims()) {
    symbols += dim.is_symbol();
    empty |= !dim.is_symbol() && dim.size() == 0;
    numbers.push_back(dim.is_symbol() ? -1 : dim.size());
  }
  // Reshape takes 0 for the operand's own size, and -1 for the size that follows from the other sizes.
  if (symbols > 1 || empty) return add("Reshape", {value, sizes(shape)}, {{"allowzero", int64_t(1)}});
  return add("Reshape", {value, ints(numbers)});
}

std::string Lowering::activated(std::string value) {
  if (!attributes().has("activation") || attributes().get_string("activation") == "none") return value;
  return add("Relu", {std::move(value)});
}

const OnnxRules& onnx_rules() {
  static const OnnxRules& rules = forever([] {
    OnnxRules all;
    for (auto* add : {add_element_rules, add_product_rules, add_norm_rules, add_arrange_rules, add_reduce_rules,
                      add_lookup_rules, add_sequence_rules}) {
      add(all);
    }
    return all;
  }());
  return rules;
}

}  // namespace shoal::convert
