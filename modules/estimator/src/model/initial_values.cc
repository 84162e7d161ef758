// SPDX-License-Identifier: Apache-2.0
#include "model/initial_values.h"

#include <cstring>

#include "model/warm_start_choice.h"
#include "shoal/base/environment.h"
#include "shoal/graph/name_pattern.h"

namespace shoal {
namespace {

constexpr const char* kWhere = "model_fn: initial_values: ";

std::string described_type(DType dtype, const Shape& shape) {
  return std::string(to_string(dtype)) + " " + to_string(shape);
}

Result<Initializer> resolved(const nn::InitializerSpec& spec, const Variable& variable) {
  const std::string where = kWhere + variable.name;
  auto made = call_user(where, [&] { return spec.resolve(nn::fans_of(variable.shape), variable.shape); });
  if (!made) return invalid_argument(where + ": " + made.error().message());
  if (auto valid = nn::validate(*made); !valid) return std::move(valid).error().with_context(where);
  if (made->kind != Initializer::Kind::kConstant && variable.dtype != DType::kFloat32) {
    return invalid_argument(where + " is " + described_type(variable.dtype, variable.shape) +
                            "; random initializers make float32");
  }
  return made;
}

}  // namespace

Result<InitialValues> InitialValues::resolve(const std::vector<std::pair<std::string, InitialValue>>& given,
                                             const Graph& graph, Mode mode) {
  InitialValues made;
  for (const auto& [text, value] : given) {
    auto pattern = NamePattern::make(text);
    if (!pattern) return invalid_argument(kWhere + pattern.error().message());
    bool any = false, names_any = false;
    for (const Variable& variable : graph.variables()) {
      names_any |= pattern->names(variable.name);
      if (!pattern->matches(variable.name)) continue;
      SHOAL_TRY_VOID(made.set(variable, value));
      any = true;
    }
    if ((any && names_any) || mode != Mode::kTrain) continue;
    std::vector<std::string> names;
    for (const Variable& variable : graph.variables()) names.push_back(variable.name);
    return invalid_argument(
        kWhere + ("\"" + text + (any ? "\" leaves out" : "\" matches") + " no variable of the model; there are: ") +
        listed(names));
  }
  return made;
}

Result<void> InitialValues::set(const Variable& variable, const InitialValue& given) {
  if (const nn::InitializerSpec* initializer = given.initializer()) {
    SHOAL_TRY(initializers_[variable.name], resolved(*initializer, variable));
    values_.erase(variable.name);
    return {};
  }
  const Tensor& values = *given.values();
  if (values.dtype() != variable.dtype || values.shape() != variable.shape) {
    return invalid_argument(kWhere + variable.name + " is " + described_type(variable.dtype, variable.shape) +
                            ", the values are " + described_type(values.dtype(), values.shape()));
  }
  values_.insert_or_assign(variable.name, values);
  return {};
}

const Initializer& InitialValues::initializer_of(const Variable& variable) const {
  const auto found = initializers_.find(variable.name);
  return found == initializers_.end() ? variable.initializer : found->second;
}

Result<void> InitialValues::fill(const cluster::Segment& segment, std::span<std::byte> out) const {
  const cluster::VariableSpec& variable = segment.variable;
  const int64_t rows = segment.row_end - segment.row_begin;
  const auto found = values_.find(variable.name);
  if (found == values_.end()) {
    const Shape shape = variable.shape.rank() == 0 ? variable.shape : variable.shape.with(0, rows);
    return nn::initialize(variable.initializer, variable.key, segment.first_element(), {variable.dtype, shape, out.data()});
  }
  const size_t row_bytes = rows == 0 ? 0 : out.size() / size_t(rows);
  std::memcpy(out.data(), found->second.view().data + size_t(segment.row_begin) * row_bytes, out.size());
  return {};
}

}  // namespace shoal
