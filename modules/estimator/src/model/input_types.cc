// SPDX-License-Identifier: Apache-2.0
#include "model/input_types.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "shoal/base/names_text.h"
#include "shoal/base/utf8.h"

namespace shoal {
namespace {

constexpr std::string_view kRenameInput =
    "names are saved with the model, as UTF-8: rename it in the input function, or make the file that it comes from UTF-8, "
    "for example with iconv -f LATIN1 -t UTF-8";

Result<int64_t> leading_size(const data::TensorMap& tensors, std::string_view part, std::optional<int64_t> expected) {
  for (const auto& [name, tensor] : tensors) {
    const std::string full = input_name(part, name);
    if (tensor.shape().rank() == 0) {
      return invalid_argument("input " + full + " has no batch dimension; end the input function with .batch(n)");
    }
    if (expected && tensor.shape()[0] != *expected) {
      return invalid_argument("input " + full + " has " + std::to_string(tensor.shape()[0]) + " rows where others have " +
                              std::to_string(*expected));
    }
    expected = tensor.shape()[0];
  }
  return expected.value_or(0);
}

Result<DimShape> dims_of(const std::string& input, const Shape& shape, const VaryingAxes& varying) {
  std::vector<Dim> dims{Dim::symbol(kBatchAxis)};
  for (int axis = 1; axis < shape.rank(); ++axis) dims.emplace_back(shape[axis]);
  const auto named = varying.find(input);
  if (named == varying.end()) return DimShape(std::move(dims));
  const std::vector<std::string>& names = named->second;
  if (names.size() + 1 != dims.size()) {
    return invalid_argument("input " + input + " is " + to_string(shape) + "; Estimator::vary() names " +
                            std::to_string(names.size()) + " axes of it beside the batch");
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty()) dims[i + 1] = Dim::symbol(names[i]);
  }
  return DimShape(std::move(dims));
}

Result<NamedTypes> types_of(const data::TensorMap& tensors, std::string_view part, const VaryingAxes& varying) {
  NamedTypes types;
  for (const auto& [name, tensor] : tensors) {
    SHOAL_TRY_VOID(check_utf8(name, part == "labels" ? "the name of a label" : "the name of a feature", kRenameInput));
    SHOAL_TRY(DimShape shape, dims_of(input_name(part, name), tensor.shape(), varying));
    types.emplace_back(name, ValueType{tensor.dtype(), std::move(shape)});
  }
  return types;
}

Error wrong_rank(const std::string& input, const Tensor& tensor, const ValueType& type) {
  Error error = wrong_type(input, tensor, type.dtype, to_string(type.shape));
  if (tensor.shape().rank() + 1 != type.shape.rank()) return error;
  std::vector<int64_t> sizes{1};
  sizes.insert(sizes.end(), tensor.shape().dims().begin(), tensor.shape().dims().end());
  return invalid_argument(error.message() + "; a single example has the shape " + to_string(Shape(sizes)));
}

/// Adds the sizes that the symbols of `types` have in `tensors`. Skips tensors that are not there: feed() refuses the batch.
Result<void> add_sizes(const data::TensorMap& tensors, const NamedTypes& types, std::string_view part, SymbolSizes& sizes) {
  for (const auto& [name, type] : types) {
    const Tensor* tensor = tensors.find(name);
    if (!tensor) continue;
    if (tensor->shape().rank() != type.shape.rank()) return wrong_rank(input_name(part, name), *tensor, type);
    for (int axis = 0; axis < type.shape.rank(); ++axis) {
      if (!type.shape[axis].is_symbol()) continue;
      const int64_t size = tensor->shape()[axis];
      const auto [known, fresh] = sizes.emplace(type.shape[axis].name(), size);
      if (fresh || known->second == size) continue;
      return invalid_argument("input " + input_name(part, name) + " is " + to_string(tensor->shape()) + "; axis " +
                              std::to_string(axis) + " is " + known->first + ", which is " + std::to_string(known->second) +
                              " in another input of the batch");
    }
  }
  return {};
}

std::string names_of(const auto& named, std::string_view part) {
  const std::string names = comma_separated(named, [&](const auto& entry) { return input_name(part, entry.first); });
  return names.empty() ? "nothing" : names;
}

/// The names of the entries of `named` whose names `others` lacks, as a list; empty if there are none.
std::string names_beyond(const auto& named, const auto& others, std::string_view part) {
  std::vector<std::string> names;
  for (const auto& [name, unused] : named) {
    const auto has_this_name = [&name = name](const auto& other) { return other.first == name; };
    if (std::ranges::none_of(others, has_this_name)) names.push_back(input_name(part, name));
  }
  return comma_separated(names);
}

/// Checks the names of tensors. Tensors are bound by position, so the names must be those that the model was built for.
Result<void> check_names(const data::TensorMap& tensors, const NamedTypes& types, std::string_view part) {
  const bool same = std::equal(tensors.begin(), tensors.end(), types.begin(), types.end(),
                               [](const auto& tensor, const auto& type) { return tensor.first == type.first; });
  if (same) return {};
  const std::string missing = names_beyond(types, tensors, part), surplus = names_beyond(tensors, types, part);
  if (surplus.empty()) {
    return invalid_argument("a batch lacks " + missing + (tensors.empty() ? "" : "; it has " + names_of(tensors, part)));
  }
  return invalid_argument("a batch " + (missing.empty() ? "" : "lacks " + missing + " and ") + "has " + surplus +
                          ", which the model was not built for" +
                          (types.empty() ? "" : "; it was built for " + names_of(types, part)));
}

}  // namespace

std::string input_name(std::string_view part, std::string_view name) {
  std::string full(part);
  if (!name.empty()) full.append("/").append(name);
  return full;
}

std::string input_names(const NamedTypes& types, std::string_view part) { return names_of(types, part); }

Result<int64_t> batch_size(const data::Batch& batch) {
  SHOAL_TRY(const int64_t size, leading_size(batch.features, "features", std::nullopt));
  if (batch.features.empty()) return invalid_argument("the input has no features");
  SHOAL_TRY_VOID(leading_size(batch.labels, "labels", size));
  return size;
}

Result<InputTypes> input_types(const data::Batch& batch, const VaryingAxes& varying) {
  SHOAL_TRY_VOID(batch_size(batch));
  InputTypes types;
  SHOAL_TRY(types.features, types_of(batch.features, "features", varying));
  SHOAL_TRY(types.labels, types_of(batch.labels, "labels", varying));
  for (const auto& [input, names] : varying) {
    const auto is_it = [&input = input](std::string_view part) {
      return [part, &input](const auto& type) { return input_name(part, type.first) == input; };
    };
    // Batches for prediction have no labels, so names of labels cannot be checked.
    if (batch.labels.empty() && (input == "labels" || input.starts_with("labels/"))) continue;
    if (std::ranges::any_of(types.features, is_it("features")) || std::ranges::any_of(types.labels, is_it("labels")))
      continue;
    return invalid_argument("Estimator::vary() names " + input +
                            ", which is no input; there are: " + names_of(types.features, "features") +
                            (types.labels.empty() ? "" : ", " + names_of(types.labels, "labels")));
  }
  SymbolSizes sizes;
  SHOAL_TRY_VOID(add_sizes(batch.features, types.features, "features", sizes));
  SHOAL_TRY_VOID(add_sizes(batch.labels, types.labels, "labels", sizes));
  return types;
}

Error wrong_type(const std::string& input, const Tensor& tensor, DType dtype, const std::string& shape) {
  return invalid_argument("input " + input + " is " + std::string(to_string(tensor.dtype())) + " " +
                          to_string(tensor.shape()) + "; the model was built for " + std::string(to_string(dtype)) + " " +
                          shape);
}

Result<SymbolSizes> sizes_in(const data::Batch& batch, const InputTypes& types) {
  SHOAL_TRY_VOID(check_names(batch.features, types.features, "features"));
  SHOAL_TRY_VOID(check_names(batch.labels, types.labels, "labels"));
  SHOAL_TRY_VOID(batch_size(batch));
  SymbolSizes sizes;
  SHOAL_TRY_VOID(add_sizes(batch.features, types.features, "features", sizes));
  SHOAL_TRY_VOID(add_sizes(batch.labels, types.labels, "labels", sizes));
  return sizes;
}

}  // namespace shoal
