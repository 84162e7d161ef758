// SPDX-License-Identifier: Apache-2.0
#include "model/warm_start_choice.h"

#include <algorithm>
#include <set>

#include "shoal/base/names_text.h"
#include "shoal/graph/name_pattern.h"
#include "shoal/graph/vocabulary.h"

namespace shoal {
namespace {

Result<NamePattern> pattern_of(const std::string& text) {
  auto pattern = NamePattern::make(text);
  if (!pattern) return std::move(pattern).error().with_context("warm start");
  return pattern;
}

Result<void> check_tokens(const std::string& variable, const std::vector<std::string>& tokens, std::string_view which) {
  const std::string where = "warm start: vocabularies: " + variable + ": " + std::string(which);
  if (tokens.empty()) return invalid_argument(where + " is empty");
  if (auto made = Vocabulary::make(tokens); !made) return std::move(made).error().with_context(where);
  return {};
}

/// Collects the chosen variables of one graph.
class Choice {
 public:
  Choice(const WarmStart& start, const Graph& graph, Mode mode) : start_(start), graph_(graph), mode_(mode) {}

  Result<WarmStartedVariables> run() {
    SHOAL_TRY_VOID(match_patterns());
    WarmStartedVariables result;
    SHOAL_TRY_VOID(take_layers(result));
    if (start_.variables.named_only()) {
      for (const auto& [name, source] : start_.names) chosen_.insert(name);
      for (const auto& [name, vocabulary] : start_.vocabularies) chosen_.insert(name);
    }
    for (const auto& [name, old_name] : start_.names) SHOAL_TRY_VOID(check_name("names", name));
    for (const auto& [name, vocabulary] : start_.vocabularies) SHOAL_TRY_VOID(check_name("vocabularies", name));
    for (const Variable& variable : graph_.variables()) {
      if (chosen_.contains(variable.name)) result.variables.push_back(describe(variable));
    }
    if (result.variables.empty() && !graph_.variables().empty()) return nothing_chosen();
    return result;
  }

 private:
  Result<void> match_patterns() {
    const bool trainable_only = start_.variables.trainable_only();
    for (const std::string& text : start_.variables.patterns()) {
      SHOAL_TRY(const NamePattern pattern, pattern_of(text));
      bool any = false, names_any = false;
      for (const Variable& variable : graph_.variables()) {
        if (trainable_only && !variable.trainable) continue;
        names_any |= pattern.names(variable.name);
        if (!pattern.matches(variable.name)) continue;
        chosen_.insert(variable.name);
        any = true;
      }
      if ((any && names_any) || mode_ != Mode::kTrain) continue;
      return invalid_argument("warm start: pattern \"" + text + (any ? "\" leaves out no " : "\" matches no ") +
                              (trainable_only ? "trainable variable" : "variable") +
                              " of the model; there are: " + listed(names_of_variables(trainable_only)));
    }
    return {};
  }

  bool has_variable(const std::string& name) const {
    return std::ranges::find(graph_.variables(), name, &Variable::name) != graph_.variables().end();
  }

  /// Chooses the variables of the layers in WarmStart::layers and remembers the source of each variable.
  Result<void> take_layers(WarmStartedVariables& result) {
    for (const auto& [scope, weights] : start_.layers) {
      bool any = false;
      std::map<std::string, SourceTensor> missing;
      for (const auto& [suffix, source] : weights) {
        const std::string name = scope + "/" + suffix;
        if (!has_variable(name)) {
          missing.emplace(name, source);
          continue;
        }
        any = true;
        chosen_.insert(name);
        by_layer_.emplace(name, source);
      }
      if (any) {
        result.without_variable.merge(missing);
      } else if (mode_ == Mode::kTrain) {
        return invalid_argument("warm start: layers: the model has no variable of such a layer named " + scope + " (" +
                                listed(names_of(missing)) + "); there are: " + listed(names_of_variables(false)));
      }
    }
    return {};
  }

  static std::vector<std::string> names_of(const std::map<std::string, SourceTensor>& sources) {
    std::vector<std::string> names;
    for (const auto& [name, source] : sources) names.push_back(name);
    return names;
  }

  Result<void> check_name(const std::string& field, const std::string& name) const {
    if (!has_variable(name)) {
      if (mode_ != Mode::kTrain) return {};
      return invalid_argument("warm start: " + field + ": the model has no variable " + name +
                              "; there are: " + listed(names_of_variables(false)));
    }
    if (chosen_.contains(name)) return {};
    return invalid_argument(
        "warm start: " + field + ": " + name +
        " is not among the variables that are chosen, which are: " + listed({chosen_.begin(), chosen_.end()}));
  }

  Error nothing_chosen() const {
    return invalid_argument("warm start: nothing that is chosen is a variable of the model; there are: " +
                            listed(names_of_variables(false)));
  }

  WarmStartedVariable describe(const Variable& variable) const {
    WarmStartedVariable result{.variable = &variable, .source = variable.name, .vocabulary = nullptr};
    if (const auto layer = by_layer_.find(variable.name); layer != by_layer_.end()) result.source = layer->second;
    if (const auto name = start_.names.find(variable.name); name != start_.names.end()) result.source = name->second;
    const auto found = start_.vocabularies.find(variable.name);
    if (found != start_.vocabularies.end()) result.vocabulary = &found->second;
    return result;
  }

  std::vector<std::string> names_of_variables(bool trainable_only) const {
    std::vector<std::string> names;
    for (const Variable& variable : graph_.variables()) {
      if (variable.trainable || !trainable_only) names.push_back(variable.name);
    }
    return names;
  }

  const WarmStart& start_;
  const Graph& graph_;
  const Mode mode_;
  std::set<std::string> chosen_;
  std::map<std::string, SourceTensor> by_layer_;  // By variable name: source tensors of the layers in WarmStart::layers.
};

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  const std::string text = comma_separated(names);
  return text.empty() ? "none" : text;
}

Result<void> check_warm_start(const WarmStart& start) {
  if (start.from.empty()) return invalid_argument("warm start: `from` is empty; it names a checkpoint or a folder");
  const bool named = start.variables.named_only() && !(start.names.empty() && start.vocabularies.empty());
  if (start.variables.patterns().empty() && start.layers.empty() && !named) {
    return invalid_argument("warm start: no variable is chosen: give patterns, layers, names or vocabularies");
  }
  for (const std::string& text : start.variables.patterns()) SHOAL_TRY_VOID(pattern_of(text));
  for (const auto& [variable, vocabulary] : start.vocabularies) {
    SHOAL_TRY_VOID(check_tokens(variable, vocabulary.old_tokens, "old_tokens"));
    SHOAL_TRY_VOID(check_tokens(variable, vocabulary.new_tokens, "new_tokens"));
  }
  return {};
}

Result<WarmStartedVariables> choose_warm_started(const WarmStart& start, const Graph& graph, Mode mode) {
  return Choice(start, graph, mode).run();
}

WarmStartChoice::WarmStartChoice(const char* pattern) : WarmStartChoice(std::string(pattern)) {}
WarmStartChoice::WarmStartChoice(std::string pattern) : patterns_{std::move(pattern)}, trainable_only_(true) {}
WarmStartChoice::WarmStartChoice(std::string_view pattern) : WarmStartChoice(std::string(pattern)) {}
WarmStartChoice::WarmStartChoice(std::initializer_list<std::string_view> patterns)
    : patterns_(patterns.begin(), patterns.end()) {}
WarmStartChoice::WarmStartChoice(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

}  // namespace shoal
