// SPDX-License-Identifier: Apache-2.0
#include "model/warm_start_choice.h"

#include <algorithm>
#include <set>

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

/// Collects what is chosen of one graph.
class Choice {
 public:
  Choice(const WarmStart& start, const Graph& graph, Mode mode) : start_(start), graph_(graph), mode_(mode) {}

  Result<std::vector<WarmStartedVariable>> run() {
    SHOAL_TRY_VOID(match_patterns());
    if (start_.variables.by_vocabulary()) {
      for (const auto& [name, vocabulary] : start_.vocabularies) chosen_.insert(name);
    }
    for (const auto& [name, old_name] : start_.names) SHOAL_TRY_VOID(check_name("names", name));
    for (const auto& [name, vocabulary] : start_.vocabularies) SHOAL_TRY_VOID(check_name("vocabularies", name));
    std::vector<WarmStartedVariable> result;
    for (const Variable& variable : graph_.variables()) {
      if (chosen_.contains(variable.name)) result.push_back(describe(variable));
    }
    if (result.empty() && !graph_.variables().empty()) return nothing_chosen();
    return result;
  }

 private:
  Result<void> match_patterns() {
    const bool trainable_only = start_.variables.trainable_only();
    for (const std::string& text : start_.variables.patterns()) {
      SHOAL_TRY(const NamePattern pattern, pattern_of(text));
      bool any = false;
      for (const Variable& variable : graph_.variables()) {
        if (trainable_only && !variable.trainable) continue;
        if (!pattern.matches(variable.name)) continue;
        chosen_.insert(variable.name);
        any = true;
      }
      if (any || mode_ != Mode::kTrain) continue;
      return invalid_argument("warm start: pattern \"" + text + "\" matches no " +
                              (trainable_only ? "trainable variable" : "variable") +
                              " of the model; there are: " + listed(names_of_variables(trainable_only)));
    }
    return {};
  }

  Result<void> check_name(const std::string& field, const std::string& name) const {
    const std::vector<std::string> all = names_of_variables(false);
    if (std::find(all.begin(), all.end(), name) == all.end()) {
      if (mode_ != Mode::kTrain) return {};
      return invalid_argument("warm start: " + field + ": the model has no variable " + name +
                              "; there are: " + listed(all));
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
    WarmStartedVariable result{.variable = &variable, .old_name = variable.name, .vocabulary = nullptr};
    if (const auto found = start_.names.find(variable.name); found != start_.names.end()) result.old_name = found->second;
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
};

}  // namespace

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text.append(text.empty() ? "" : ", ").append(name);
  return text.empty() ? "none" : text;
}

Result<void> check_warm_start(const WarmStart& start) {
  if (start.from.empty()) return invalid_argument("warm start: `from` is empty; it names a checkpoint or a folder");
  const bool by_vocabulary = start.variables.by_vocabulary() && !start.vocabularies.empty();
  if (start.variables.patterns().empty() && !by_vocabulary) {
    return invalid_argument("warm start: no variable is chosen: give patterns, or vocabularies");
  }
  for (const std::string& text : start.variables.patterns()) SHOAL_TRY_VOID(pattern_of(text));
  for (const auto& [variable, vocabulary] : start.vocabularies) {
    SHOAL_TRY_VOID(check_tokens(variable, vocabulary.old_tokens, "old_tokens"));
    SHOAL_TRY_VOID(check_tokens(variable, vocabulary.new_tokens, "new_tokens"));
  }
  return {};
}

Result<std::vector<WarmStartedVariable>> choose_warm_started(const WarmStart& start, const Graph& graph, Mode mode) {
  return Choice(start, graph, mode).run();
}

WarmStartChoice::WarmStartChoice(const char* pattern) : WarmStartChoice(std::string(pattern)) {}
WarmStartChoice::WarmStartChoice(std::string pattern) : patterns_{std::move(pattern)}, trainable_only_(true) {}
WarmStartChoice::WarmStartChoice(std::initializer_list<std::string> patterns) : patterns_(patterns) {}
WarmStartChoice::WarmStartChoice(std::vector<std::string> patterns) : patterns_(std::move(patterns)) {}

}  // namespace shoal
