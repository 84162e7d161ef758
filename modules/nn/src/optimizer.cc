#include "shoal/nn/optimizer.h"

#include <algorithm>
#include <cmath>

#include "shoal/graph/op.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

using Kind = UpdateRule::Kind;

struct NamedOptimizer {
  std::string_view name;
  Optimizer (*make)(std::optional<LearningRate> learning_rate);
};

template <class Options, Optimizer (*Make)(Options)>
Optimizer make_with(std::optional<LearningRate> learning_rate) {
  Options options;
  if (learning_rate) options.learning_rate = *std::move(learning_rate);
  return Make(std::move(options));
}

constexpr NamedOptimizer kOptimizers[] = {
    {"SGD", &make_with<SgdOptions, sgd>},
    {"Adagrad", &make_with<AdagradOptions, adagrad>},
    {"Adam", &make_with<AdamOptions, adam>},
    {"AdamW", &make_with<AdamWOptions, adamw>},
    {"RMSProp", &make_with<RmsPropOptions, rmsprop>},
    {"Ftrl", &make_with<FtrlOptions, ftrl>},
    {"LAMB", &make_with<LambOptions, lamb>},
};

void check_loss(const std::string& who, Value loss) {
  if (!loss.valid()) raise(invalid_argument(who + ": the loss is no value of a graph"));
  bool one_element = loss.dtype() == DType::kFloat32;
  for (const Dim& dim : loss.shape().dims()) one_element = one_element && dim == Dim(1);
  if (one_element) return;
  raise(invalid_argument(who + ": the loss has to be one float32 number, got " + std::string(to_string(loss.dtype())) +
                         " " + to_string(loss.shape()) + "; reduce it first"));
}

/// What gradients of norm `norm` are multiplied with; always finite, since servers refuse other scalars.
double clip_factor(double limit, float norm) {
  if (std::isnan(norm)) return 1;
  return norm > limit ? limit / double(norm) : 1;  // 0 for an infinite one
}

const Variable& trainable_variable(const std::string& who, const Graph& graph, const std::string& name) {
  const Variable* variable = graph.find_variable(name);
  if (variable == nullptr) raise(invalid_argument(who + ": the graph has no variable " + name));
  if (!variable->trainable) raise(invalid_argument(who + ": variable " + name + " is not trainable"));
  return *variable;
}

/// The nodes that the loss is computed from.
std::vector<bool> computed_from(Value loss) {
  const Graph& graph = loss.graph();
  std::vector<bool> needed(graph.nodes().size());
  needed[size_t(loss.node())] = true;
  for (NodeId id = loss.node(); id >= 0; --id) {
    if (!needed[size_t(id)]) continue;
    const Node& node = graph.node(id);
    const OpDef* op = graph.catalogue().find(node.op);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!op || !op->is_shape_only(int(i))) needed[size_t(node.inputs[i].node())] = true;
    }
  }
  return needed;
}

/// The lookups of each of these variables, if the loss depends on it through lookups alone; else none.
std::vector<std::vector<NodeId>> lookups_of(Value loss, const std::vector<Value>& variables) {
  const Graph& graph = loss.graph();
  const std::vector<bool> needed = computed_from(loss);
  std::vector<std::vector<NodeId>> lookups(variables.size());
  std::vector<bool> otherwise(variables.size());
  for (NodeId id = 0; id <= loss.node(); ++id) {
    const Node& node = graph.node(id);
    const OpDef* op = graph.catalogue().find(node.op);
    for (size_t i = 0; needed[size_t(id)] && i < node.inputs.size(); ++i) {
      const auto at = std::ranges::find(variables, node.inputs[i]);
      if (at == variables.end() || op->is_shape_only(int(i))) continue;
      const auto v = size_t(at - variables.begin());
      if (i == 0 && op->looks_up_rows && op->looks_up_rows(node.attributes)) {
        lookups[v].push_back(id);
      } else {
        otherwise[v] = true;
      }
    }
  }
  for (size_t v = 0; v < variables.size(); ++v) {
    if (otherwise[v] || variables[v].node() == loss.node()) lookups[v].clear();
  }
  return lookups;
}

}  // namespace

LearningRate::LearningRate(double constant) : at_([constant](uint64_t) { return constant; }) {
  if (!(constant >= 0 && std::isfinite(constant))) {
    raise(invalid_argument("learning rate is " + std::to_string(constant) + ", expected a finite number >= 0"));
  }
}

LearningRate::LearningRate(Schedule schedule) : at_(std::move(schedule.at)) {
  if (!at_) raise(invalid_argument("learning rate: the schedule is an empty function"));
}

Optimizer::Optimizer(std::string name, UpdateRule rule, LearningRate learning_rate)
    : name_(std::move(name)), rule_(rule), learning_rate_(std::move(learning_rate)) {
  if (auto valid = validate(rule_); !valid) raise(std::move(valid).error().with_context(name_));
}

TrainOp Optimizer::minimize(Value loss) const {
  check_loss(name_, loss);
  std::vector<std::string> names;
  for (const Variable& variable : loss.graph().variables()) {
    if (variable.trainable) names.push_back(variable.name);
  }
  if (names.empty()) raise(invalid_argument(name_ + ": the model has no trainable variables"));
  return minimize(loss, names);
}

TrainOp Optimizer::minimize(Value loss, const std::vector<std::string>& variables) const {
  check_loss(name_, loss);
  Graph& graph = loss.graph();
  std::vector<Value> values;
  for (const std::string& name : variables) {
    values.emplace_back(&graph, trainable_variable(name_, graph, name).node, 0);
  }
  // A variable that is only looked up gets the gradients of what was looked up, by rows: a step then costs the rows that
  // its batch touches. Clipping and LAMB need the whole gradient.
  const bool may_come_by_rows = clip_ == Clip::kNone && !needs_whole_variable(rule_);
  const std::vector<std::vector<NodeId>> lookups =
      may_come_by_rows ? lookups_of(loss, values) : std::vector<std::vector<NodeId>>(values.size());
  std::vector<Value> wrt;
  for (size_t i = 0; i < values.size(); ++i) {
    if (lookups[i].empty()) wrt.push_back(values[i]);
    for (NodeId lookup : lookups[i]) wrt.emplace_back(&graph, lookup, 0);
  }
  const std::vector<Value> gradient_values = gradients(loss, wrt);

  TrainOp op;
  UpdateRule rule = rule_;
  rule.learning_rate_scalar = 0;
  op.scalars.push_back({"learning_rate", [rate = learning_rate_](uint64_t step) { return rate.at(step); }});
  auto gradient = gradient_values.begin();
  for (size_t i = 0; i < variables.size(); ++i) {
    VariableUpdate update{.variable = variables[i], .update = {}, .rule = rule};
    if (lookups[i].empty()) update.update = *gradient++;
    for (NodeId lookup : lookups[i]) {
      if (gradient->valid()) update.rows.push_back({graph.node(lookup).inputs[1], *gradient});
      ++gradient;
    }
    if (update.update.valid() || !update.rows.empty()) op.updates.push_back(std::move(update));
  }
  if (op.updates.empty()) {
    raise(invalid_argument(name_ + ": the loss depends on none of the " + std::to_string(variables.size()) +
                           " variables to train; is it computed from the model's output?"));
  }
  add_clipping(op);
  for (const MovingAverage& average : graph.moving_averages()) {
    op.updates.push_back(moving_average(average.variable, average.value, average.decay));
  }
  return train_op(std::move(op));
}

Optimizer Optimizer::clip_by_value(double limit) const { return clipped(Clip::kValue, "clip_by_value", limit); }
Optimizer Optimizer::clip_by_norm(double limit) const { return clipped(Clip::kNorm, "clip_by_norm", limit); }
Optimizer Optimizer::clip_by_global_norm(double limit) const {
  return clipped(Clip::kGlobalNorm, "clip_by_global_norm", limit);
}

Optimizer Optimizer::clipped(Clip clip, std::string_view how, double limit) const {
  const std::string who = name_ + ": " + std::string(how);
  if (clip_ != Clip::kNone) raise(invalid_argument(who + ": gradients are clipped already"));
  if (!(limit > 0 && std::isfinite(limit))) {
    raise(invalid_argument(who + ": limit is " + std::to_string(limit) + ", expected a finite number above 0"));
  }
  Optimizer copy = *this;
  copy.clip_ = clip;
  copy.clip_limit_ = limit;
  return copy;
}

void Optimizer::add_clipping(TrainOp& op) const {
  const auto of_norm = [limit = clip_limit_](float norm) { return clip_factor(limit, norm); };
  const auto add_scalar = [&](std::string name, Value norm) {
    op.scalars.push_back({.name = std::move(name), .at = {}, .value = norm, .of_value = of_norm});
    return int32_t(op.scalars.size()) - 1;
  };
  switch (clip_) {
    case Clip::kNone: return;
    case Clip::kValue:
      for (VariableUpdate& update : op.updates) update.update = ops::clip(update.update, -clip_limit_, clip_limit_);
      return;
    case Clip::kNorm:
      for (VariableUpdate& update : op.updates) {
        const Value norm = ops::global_norm({update.update});
        update.rule.gradient_scale_scalar = add_scalar("gradient_scale/" + update.variable, norm);
      }
      return;
    case Clip::kGlobalNorm: {
      std::vector<Value> all;
      for (const VariableUpdate& update : op.updates) all.push_back(update.update);
      const int32_t scalar = add_scalar("gradient_scale", ops::global_norm(all));
      for (VariableUpdate& update : op.updates) update.rule.gradient_scale_scalar = scalar;
      return;
    }
  }
}

Optimizer sgd(SgdOptions options) {
  if (options.momentum == 0) {
    if (options.nesterov) raise(invalid_argument("SGD: nesterov needs a momentum above 0"));
    return {"SGD", {.kind = Kind::kSgd}, std::move(options.learning_rate)};
  }
  const UpdateRule rule{.kind = Kind::kMomentum, .constants = {options.momentum, options.nesterov ? 1.0 : 0.0}};
  return {"SGD", rule, std::move(options.learning_rate)};
}

Optimizer adagrad(AdagradOptions options) {
  const UpdateRule rule{.kind = Kind::kAdagrad, .constants = {options.initial_accumulator, options.epsilon}};
  return {"Adagrad", rule, std::move(options.learning_rate)};
}

Optimizer adam(AdamOptions options) {
  const UpdateRule rule{.kind = Kind::kAdam, .constants = {options.beta1, options.beta2, options.epsilon}};
  return {"Adam", rule, std::move(options.learning_rate)};
}

Optimizer adamw(AdamWOptions options) {
  const UpdateRule rule{.kind = Kind::kAdamW,
                        .constants = {options.beta1, options.beta2, options.epsilon, options.weight_decay}};
  return {"AdamW", rule, std::move(options.learning_rate)};
}

Optimizer rmsprop(RmsPropOptions options) {
  const UpdateRule rule{.kind = Kind::kRmsProp,
                        .constants = {options.decay, options.momentum, options.epsilon, options.centered ? 1.0 : 0.0}};
  return {"RMSProp", rule, std::move(options.learning_rate)};
}

Optimizer ftrl(FtrlOptions options) {
  const UpdateRule rule{
      .kind = Kind::kFtrl,
      .constants = {options.initial_accumulator, options.l1, options.l2, options.l2_shrinkage, options.beta}};
  return {"Ftrl", rule, std::move(options.learning_rate)};
}

Optimizer lamb(LambOptions options) {
  const UpdateRule rule{.kind = Kind::kLamb,
                        .constants = {options.beta1, options.beta2, options.epsilon, options.weight_decay}};
  return {"LAMB", rule, std::move(options.learning_rate)};
}

Result<Optimizer> make_optimizer(std::string_view name, std::optional<LearningRate> learning_rate) {
  std::string known;
  for (const NamedOptimizer& entry : kOptimizers) {
    if (entry.name == name) return entry.make(std::move(learning_rate));
    known += (known.empty() ? "" : ", ") + std::string(entry.name);
  }
  return invalid_argument("no optimizer is named \"" + std::string(name) + "\"; there are: " + known +
                          " (upper and lower case matter)");
}

std::vector<std::string> optimizer_names() {
  std::vector<std::string> names;
  for (const NamedOptimizer& entry : kOptimizers) names.emplace_back(entry.name);
  return names;
}

}  // namespace shoal::nn
