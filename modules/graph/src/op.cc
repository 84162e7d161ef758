// SPDX-License-Identifier: Apache-2.0
#include "shoal/graph/op.h"

#include <algorithm>

#include "own_op.h"
#include "shape_rules.h"
#include "shoal/graph/source.h"

namespace shoal {

bool OpDef::is_shape_only(int input) const {
  return std::find(shape_only.begin(), shape_only.end(), input) != shape_only.end();
}

namespace {

constexpr auto kFamilies = {
    rules::add_dense_ops,   rules::add_conv2d_ops,           rules::add_pool_ops,      rules::add_elementwise_ops,
    rules::add_shape_ops,   rules::add_dropout_ops,          rules::add_softmax_ops,   rules::add_reduce_ops,
    rules::add_integer_ops, rules::add_recurrent_ops,        rules::add_attention_ops, rules::add_binary_ops,
    rules::add_unary_ops,   rules::add_arrange_ops,          rules::add_lookup_ops,    rules::add_matmul_ops,
    rules::add_norm_ops,    rules::add_conv2d_transpose_ops, rules::add_clipping_ops,  rules::add_input_ops};

/// Passes that apply `rewrites` to an op do not check how many inputs the op has. Returns how many it must have.
int inputs_looked_at(const Rewrites& rewrites) {
  if (rewrites.addition || rewrites.mask || rewrites.spreads_to_maxima) return 2;
  const bool one = rewrites.changes_nothing || rewrites.idempotent || !rewrites.activation.empty() ||
                   rewrites.takes_maxima || rewrites.after_maxima;
  return one ? 1 : 0;
}

Result<void> check(const OpDef& op) {
  auto is_input = [&op](int input) { return input >= 0 && input < op.inputs_max; };
  if (op.name.empty()) return invalid_argument("the op has no name");
  if (!op.shape_rule) return invalid_argument("the op has no shape rule");
  if (op.inputs_min < 0 || op.inputs_max < op.inputs_min)
    return invalid_argument("inputs_min and inputs_max contradict each other");
  if (op.view && op.inputs_min < 1) return invalid_argument("a view needs an input");
  if (!op.view && !op.kernel) return invalid_argument("the op has no kernel; a user's own op brings one");
  SHOAL_TRY_VOID(check_attribute_defs(op));
  for (int input : op.shape_only) {
    if (!is_input(input))
      return invalid_argument("shape_only names input " + std::to_string(input) + ", which the op does not have");
    if (op.view && input == 0) return invalid_argument("a view needs the contents of input 0");
  }
  for (const OpDef::InPlace& pair : op.in_place) {
    if (!is_input(pair.input) || pair.output < 0 || op.is_shape_only(pair.input)) {
      return invalid_argument("in_place names an output or input that the op does not have");
    }
  }
  if ((op.looks_up_rows || op.product) && op.inputs_min < 2)
    return invalid_argument("a product or a lookup needs two inputs, but this op may have fewer");
  for (int input : {op.rewrites.addend, op.rewrites.masked_by}) {
    if (input != -1 && (!is_input(input) || input < op.inputs_min || input + 1 != op.inputs_max))
      return invalid_argument("rewrites name an input that is not the op's last, or is not optional");
  }
  if (const int looked_at = inputs_looked_at(op.rewrites); op.inputs_min < looked_at) {
    return invalid_argument("rewrites of this kind need " + std::to_string(looked_at) +
                            " inputs, but this op may have fewer");
  }
  return {};
}

}  // namespace

Boxed<Attribute> AttributeDef::zero() { return 0.0; }

/// A map, so that adding an op does not move the others: callers keep pointers to ops that they have found.
struct OpCatalogue::Ops {
  std::map<std::string, OpDef, std::less<>> by_name;
};

OpCatalogue::~OpCatalogue() = default;
OpCatalogue::OpCatalogue(const OpCatalogue& other) : ops_(new Ops(*other.ops_)) {}
OpCatalogue::OpCatalogue(OpCatalogue&&) noexcept = default;
OpCatalogue& OpCatalogue::operator=(OpCatalogue other) noexcept {
  ops_ = std::move(other.ops_);
  return *this;
}

OpCatalogue::OpCatalogue() : ops_(new Ops) {
  const rules::AddOp add = [this](OpDef op) {
    std::string name = op.name;
    SHOAL_CHECK(ops_->by_name.emplace(std::move(name), std::move(op)).second);
  };
  for (auto* add_family : kFamilies) add_family(add);
}

const OpCatalogue& OpCatalogue::built_in() {
  // Never destroyed, since other static variables may use it until the process ends. (forever() of forever.h is similar.)
  static const OpCatalogue& catalogue = *new OpCatalogue;
  return catalogue;
}

Result<void> OpCatalogue::add(OpDef op) {
  if (auto checked = check(op); !checked) return std::move(checked).error().with_context("op \"" + op.name + "\"");
  if (const OpDef* there = find(op.name); there || source_of(op.name) != Source::kNone) {
    return invalid_argument("op \"" + op.name +
                            "\": " + (there && there->own ? "two ops of yours have" : "Shoal has an op of") +
                            " this name; choose another one, for example with a prefix of your own");
  }
  op.own = true;
  std::string name = op.name;
  ops_->by_name.emplace(std::move(name), std::move(op));
  return {};
}

const OpDef* OpCatalogue::find(std::string_view name) const {
  const auto found = ops_->by_name.find(name);
  return found == ops_->by_name.end() ? nullptr : &found->second;
}

std::vector<std::string> OpCatalogue::names() const {
  std::vector<std::string> names;
  for (const auto& [name, op] : ops_->by_name) names.push_back(name);
  return names;
}

RandomKey random_sequence(RandomKey graph_seed, int64_t node_key, uint64_t trainer, uint64_t ordinal) {
  return fold_in(fold_in(fold_in(graph_seed, uint64_t(node_key)), trainer), ordinal);
}

}  // namespace shoal
