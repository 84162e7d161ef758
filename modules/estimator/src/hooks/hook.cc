// SPDX-License-Identifier: Apache-2.0
#include "shoal/estimator/hook.h"

#include <algorithm>

#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/graph/source.h"

namespace shoal {

namespace {

void add(NamedValues& fetches, std::string name, Value value) {
  const auto found = std::find_if(fetches.begin(), fetches.end(), [&](const auto& f) { return f.first == name; });
  if (found == fetches.end()) {
    fetches.emplace_back(std::move(name), value);
  } else if (found->second != value) {
    raise(invalid_argument("two hooks fetch different values under the name " + name));
  }
}

/// Puts an article before `what`: "the loss", "a prediction".
std::string with_article(std::string_view what) { return (what == "loss" ? "the " : "a ") + std::string(what); }

}  // namespace

std::string HookSetup::other_of_name(std::string_view name, const Value& value) const {
  for (const ModelName& one : named_) {
    if (one.name == name && one.value != value) return with_article(one.what);
  }
  const Value node = graph_.find(name);
  if (!node.valid() || node == value) return "";
  const Source source = source_of(graph_.node(node.node()).op);
  return source == Source::kVariable ? "a variable" : source == Source::kInput ? "an input" : "";
}

void HookSetup::fetch(std::string name, Value value) { add(fetches_, std::move(name), value); }
void HookSetup::fetch_at_end(std::string name, Value value) { add(fetches_at_end_, std::move(name), value); }

Value HookSetup::value(std::string_view name) const {
  const ModelName* found = nullptr;
  for (const ModelName& one : named_) {
    if (one.name != name || !one.value.valid()) continue;
    if (found && found->value != one.value) {
      raise(invalid_argument("the model has two values of the name " + one.name + ", " + with_article(found->what) +
                             " and " + with_article(one.what) + "; give one of them another name"));
    }
    found = &one;
  }
  if (found) return found->value;
  const Value node = graph_.find(name);
  if (node.valid()) return node;
  std::vector<std::string> names;
  for (const ModelName& one : named_) {
    if (one.value.valid()) names.push_back(one.name);
  }
  for (const Variable& variable : graph_.variables()) names.push_back(variable.name);
  raise(not_found("the model has no value " + std::string(name) + did_you_mean(std::string(name), names) +
                  "; there are: " + comma_separated(names) +
                  ", and the nodes of its graph by their full names; EstimatorSpec::named_values names others"));
}

TensorView RunContext::variable(std::string_view name) const {
  if (!read_variable_)
    raise(
        failed_precondition("only training has variables that change: a hook of an evaluation or a "
                            "prediction cannot read them"));
  return value_or_raise(read_variable_(name));
}

TensorView RunContext::final_value(std::string_view name) const {
  if (!has_final_values_) {
    raise(failed_precondition("there are no final values: ask has_final_values() in end(), and not before"));
  }
  for (const auto& [other, tensor] : final_values_) {
    if (other == name) return tensor.view();
  }
  raise(not_found("no final value " + std::string(name) + " was named in begin() by fetch_at_end()"));
}

void StepRequest::observe(backends::KernelObserver& observer) {
  if (observer_) raise(failed_precondition("two hooks observe the kernels of one step; leave out one of them"));
  observer_ = &observer;
}

void StepRequest::feed(std::string input, Tensor tensor) {
  for (const auto& [other, value] : feeds_) {
    if (other == input) raise(invalid_argument("two hooks feed the input " + input + " in one step"));
  }
  feeds_.emplace_back(std::move(input), std::move(tensor));
}

const TensorView& StepValues::operator[](std::string_view name) const {
  if (!fetched_) raise(failed_precondition("this step did not fetch; call StepRequest::fetch() in before_step()"));
  for (const auto& [other, value] : values_) {
    if (other == name) return value;
  }
  raise(not_found("no value " + std::string(name) + " was named in begin()"));
}

HookSetup::HookSetup(Graph& graph, Value loss, std::vector<ModelName> named)
    : graph_(graph), loss_(loss), named_(std::move(named)) {}

RunContext::RunContext(Environment& env, MeasureLimits measure_limits)
    : env_(env), measure_limits_(std::move(measure_limits)) {}
backends::MachineLimits RunContext::machine_limits(int threads) const { return measure_limits_(threads); }
void RunContext::set_final_values(std::vector<std::pair<std::string, Tensor>> values) {
  final_values_ = std::move(values);
  has_final_values_ = true;
}
void RunContext::read_variables_by(ReadVariable read) { read_variable_ = std::move(read); }
void RunContext::set_task(bool is_chief, std::string model_dir, monitor::EventWriter* summaries) {
  is_chief_ = is_chief;
  model_dir_ = std::move(model_dir);
  summaries_ = summaries;
}

void StepRequest::clear() { fetch_ = false, feeds_.clear(), observer_ = nullptr; }

}  // namespace shoal
