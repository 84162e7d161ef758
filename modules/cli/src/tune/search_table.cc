// SPDX-License-Identifier: Apache-2.0
#include "tune/search_table.h"

#include <algorithm>
#include <cmath>

#include "shoal/base/format.h"
#include "shoal/data/csv_reader.h"

namespace shoal::cli::tune {
namespace {

using tuning::Trial;

int rank_of(const Trial& trial, const Trial* best) {
  if (&trial == best) return 0;
  if (trial.state == Trial::State::kRunning || trial.state == Trial::State::kEnding) return 1;
  return 2;
}

std::vector<const Trial*> in_order(const tuning::Tuner& tuner) {
  std::vector<const Trial*> trials;
  for (const Trial& trial : tuner.trials()) trials.push_back(&trial);
  const Trial* const best = tuner.best();
  std::ranges::sort(trials, [&](const Trial* a, const Trial* b) {
    const int rank_a = rank_of(*a, best), rank_b = rank_of(*b, best);
    if (rank_a != rank_b) return rank_a < rank_b;
    if (a->value.has_value() != b->value.has_value()) return a->value.has_value();
    if (a->value && tuning::is_better(*a->value, *b->value, tuner.goal())) return true;
    if (a->value && tuning::is_better(*b->value, *a->value, tuner.goal())) return false;
    return a->number < b->number;
  });
  return trials;
}

/// Shortens a number for the table; the journal has all its digits.
std::string short_number(double value) { return std::isnan(value) ? "nan" : formatted("%.6g", value); }

std::string state_text(const Trial& trial, bool is_best) {
  if (is_best) return "best";
  return std::string(to_string(trial.state)) + (trial.failures > 0 && !trial.has_ended() ? ", again" : "");
}

std::string parameter_text(const Trial& trial, const std::string& name) {
  const auto found = std::ranges::find(trial.parameters, name, &std::pair<std::string, tuning::Value>::first);
  return found == trial.parameters.end() ? "" : tuning::text_of(found->second);
}

}  // namespace

std::vector<std::string> search_lines(const tuning::Tuner& tuner, TableSize size) {
  std::vector<const Trial*> trials = in_order(tuner);
  const size_t count = trials.size(), room = size_t(std::max(size.lines - 1, 2));
  const bool all = count + 1 <= room;
  if (!all) trials.resize(room - 2);
  TextColumn number{.title = "trial", .right = true}, state{.title = "state"}, value{.title = "value", .right = true},
      step{.title = "step", .right = true}, parameters{.title = "parameters"};
  for (const Trial* trial : trials) {
    number.cells.push_back(std::to_string(trial->number));
    state.cells.push_back(state_text(*trial, trial == tuner.best()));
    value.cells.push_back(trial->value ? short_number(*trial->value) : "");
    step.cells.push_back(trial->value ? std::to_string(trial->step) : "");
    parameters.cells.push_back(tuning::text_of(trial->parameters));
  }
  std::vector<std::string> lines = text_table({number, state, value, step, parameters}, size.columns);
  if (!all) lines.push_back(fitted_line("and " + std::to_string(count - trials.size()) + " more trials", size.columns));
  return lines;
}

std::string trials_csv(const tuning::Tuner& tuner, const tuning::Space& space) {
  std::string text = "trial,state,value,step,seconds,attempts,status,error";
  for (const tuning::Parameter& parameter : space.parameters()) text += "," + data::csv_field("param." + parameter.name);
  text += "\r\n";
  for (const Trial& trial : tuner.trials()) {
    const bool nan = trial.value && std::isnan(*trial.value);
    text += std::to_string(trial.number) + "," + std::string(to_string(trial.state)) + ",";
    text += (!trial.value ? "" : nan ? "nan" : tuning::text_of(*trial.value)) + ",";
    text += (trial.value ? std::to_string(trial.step) : "") + "," + formatted("%.3f", trial.seconds) + ",";
    text += std::to_string(trial.attempts) + "," + std::to_string(trial.status) + "," + data::csv_field(trial.error);
    for (const tuning::Parameter& parameter : space.parameters())
      text += "," + data::csv_field(parameter_text(trial, parameter.name));
    text += "\r\n";
  }
  return text;
}

}  // namespace shoal::cli::tune
