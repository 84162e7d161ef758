// SPDX-License-Identifier: Apache-2.0
#include "own_op.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "shoal/base/environment.h"
#include "shoal/base/names_text.h"

namespace shoal {
namespace {

constexpr std::string_view kKey = "key";  // The attribute that each random op has.
// The attribute that names the activation which a node applies to its result. Passes over the graph set it.
constexpr std::string_view kActivation = "activation";

std::string_view type_name(const Attribute& attribute) {
  constexpr std::string_view kNames[] = {"a whole number", "a real number", "a bool", "a text", "a list of whole numbers"};
  static_assert(std::variant_size_v<Attribute> == std::size(kNames));
  return kNames[attribute.index()];
}

bool is_nan(const Attribute& attribute) {
  const double* real = std::get_if<double>(&attribute);
  return real && std::isnan(*real);
}

/// True for an attribute that Shoal itself gives to nodes of this op, although the op's definition does not list it.
bool is_given(const OpDef& op, std::string_view name) { return name == kOpVersion || (op.random && name == kKey); }

const AttributeDef* find_def(const OpDef& op, std::string_view name) {
  const auto found = std::ranges::find(op.attributes, name, &AttributeDef::name);
  return found == op.attributes.end() ? nullptr : &*found;
}

std::string names_of(const OpDef& op) {
  return op.attributes.empty() ? "none" : comma_separated(op.attributes, &AttributeDef::name);
}

Error refused(const std::string& name, const std::string& why) {
  return invalid_argument("attribute \"" + name + "\" " + why);
}

/// Converts an integer to double if the attribute's type is double: a node may give 2 for 2.0.
Attribute as_type_of(const AttributeDef& def, const Attribute& value) {
  constexpr int64_t kExactMax = int64_t(1) << 53;
  const int64_t* whole = std::get_if<int64_t>(&value);
  if (!whole || !std::holds_alternative<double>(*def.otherwise) || *whole < -kExactMax || *whole > kExactMax) return value;
  return double(*whole);
}

Result<void> check_version(const OpDef& op, Attributes& attributes) {
  if (!attributes.has(kOpVersion)) attributes.set(std::string(kOpVersion), op.version);
  const Attribute& said = attributes.values().find(kOpVersion)->second;
  const int64_t* version = std::get_if<int64_t>(&said);
  if (!version) return refused(std::string(kOpVersion), "has to be a whole number");
  if (*version == op.version) return {};
  return failed_precondition("it was made with version " + std::to_string(*version) +
                             " of this op, but this program has version " + std::to_string(op.version) +
                             "; use the program with that version, or make it again with this one");
}

}  // namespace

Result<void> check_attribute_defs(const OpDef& op) {
  if (op.version < 1) return invalid_argument("its version has to be at least 1, not " + std::to_string(op.version));
  for (const AttributeDef& def : op.attributes) {
    if (def.name.empty()) return invalid_argument("an attribute has no name");
    if (is_given(op, def.name))
      return refused(def.name, "is taken: each node has an attribute of this name; choose another");
    if (find_def(op, def.name) != &def) return refused(def.name, "occurs twice");
    if (is_nan(*def.otherwise)) return refused(def.name, "has the default NaN; give it a number");
  }
  const AttributeDef* activation = find_def(op, kActivation);
  if (!op.rewrites.takes_activation.empty() &&
      !(activation && std::holds_alternative<std::string>(*activation->otherwise))) {
    return refused(std::string(kActivation), "is missing: an op that takes an activation has to define it, as a text");
  }
  return {};
}

Result<void> complete_attributes(const OpDef& op, Attributes& attributes) {
  const Attributes said = attributes;
  for (const auto& [name, value] : said.values()) {
    if (is_given(op, name)) continue;
    const AttributeDef* def = find_def(op, name);
    if (!def) return refused(name, "does not belong to this op, which takes: " + names_of(op));
    const Attribute fitting = as_type_of(*def, value);
    if (fitting.index() != def->otherwise->index()) {
      return refused(name,
                     "has to be " + std::string(type_name(*def->otherwise)) + ", but is " + std::string(type_name(value)));
    }
    if (is_nan(fitting)) return refused(name, "is NaN; give it a number");
    attributes.set(name, fitting);
  }
  for (const AttributeDef& def : op.attributes) {
    if (attributes.has(def.name)) continue;
    if (def.required) return refused(def.name, "is missing; this op needs it");
    attributes.set(def.name, *def.otherwise);
  }
  return check_version(op, attributes);
}

Result<std::vector<ValueType>> own_outputs(const OpDef& op, std::span<const ValueType> inputs,
                                           const Attributes& attributes) {
  auto entered = call_user("the shape rule of a user's own op", [&] { return op.shape_rule(inputs, attributes); });
  if (!entered) return std::move(entered).error();
  SHOAL_TRY(std::vector<ValueType> outputs, std::move(entered).value());
  for (const ValueType& type : outputs) {
    if (size_of(type.dtype) == 0) return invalid_argument("the shape rule returned a text, but ops compute with numbers");
    const auto& dims = type.shape.dims();
    const bool negative = std::ranges::any_of(dims, [](const Dim& dim) { return !dim.is_symbol() && dim.size() < 0; });
    if (negative || type.shape.rank() > Shape::kRankMax) {
      return invalid_argument("the shape rule returned the shape " + to_string(type.shape) +
                              "; shapes have at most 8 dimensions, and no negative sizes");
    }
  }
  return outputs;
}

}  // namespace shoal
