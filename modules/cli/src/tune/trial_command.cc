// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_command.h"

#include <algorithm>
#include <array>

#include "launch/program_command.h"

namespace shoal::cli::tune {
namespace {

constexpr std::array<std::string_view, 6> kGivenBySearch{"model-dir", "json", "help", "predict", "measure-input", "param"};

/// Returns the name in "NAME=VALUE" or "NAME", with each _ replaced by -: --param treats both names as the same flag.
std::string name_in(std::string_view word) {
  std::string name(word.substr(0, word.find('=')));
  std::ranges::replace(name, '_', '-');
  return name;
}

/// True if the command gives a value to this flag: --NAME VALUE, --NAME=VALUE, --no-NAME, --param NAME=VALUE or
/// --param=NAME=VALUE.
bool gives(const std::vector<std::string>& words, const std::string& name) {
  constexpr std::string_view kParam = "--param";
  bool is_param = false;  // True if the word before `word` was --param.
  for (std::string_view word : words) {
    const bool holds_name = is_param || word.starts_with("--");
    is_param = word == kParam;
    if (word.starts_with("--param=")) word.remove_prefix(kParam.size() + 1);
    while (word.starts_with('-')) word.remove_prefix(1);
    const std::string given = name_in(word);
    if (holds_name && (given == name_in(name) || given == "no-" + name_in(name))) return true;
  }
  return false;
}

}  // namespace

Result<void> check_program(const std::vector<std::string>& program, const tuning::Space& space) {
  if (launch::read_command(program).flag("--model-dir")) {
    return invalid_argument("the program's command gives --model-dir, which each trial gets from the search: leave it out");
  }
  for (const tuning::Parameter& parameter : space.parameters()) {
    if (std::ranges::find(kGivenBySearch, name_in(parameter.name)) != kGivenBySearch.end()) {
      return invalid_argument("--" + parameter.name + " cannot be searched; leave the parameter " + parameter.name +
                              " out");
    }
    if (gives(program, parameter.name)) {
      return invalid_argument("the program's command gives --" + parameter.name +
                              ", which is a parameter of the search, too: leave one out");
    }
  }
  return {};
}

std::string trial_folder(const TuneOptions& options, int64_t trial) { return tuning::trial_folder(options.folder, trial); }

std::string report_file(const TuneOptions& options, int64_t trial) {
  return join_path(trial_folder(options, trial), "report.json");
}

std::vector<std::string> trial_words(const TuneOptions& options, const tuning::Trial& trial) {
  std::vector<std::string> words = options.launch;
  words.insert(words.end(), options.header.program.begin() + (options.launches_itself ? 1 : 0),
               options.header.program.end());
  for (const auto& [name, value] : trial.parameters) words.push_back("--" + name + "=" + tuning::text_of(value));
  words.push_back("--model-dir=" + trial_folder(options, trial.number));
  const auto is_given = [&](const std::string& name) {
    return gives(options.header.program, name) ||
           std::ranges::any_of(trial.parameters, [&](const auto& parameter) { return name_in(parameter.first) == name; });
  };
  const auto add = [&](const char* name, int64_t value) {
    if (!is_given(name)) words.push_back(std::string("--") + name + "=" + std::to_string(value));
  };
  if (options.threads > 0) add("threads", options.threads);
  if (options.header.max_steps > 0) add("steps", options.header.max_steps);
  if (options.header.algorithm == tuning::Algorithm::kAsha) {
    if (!is_given("save-checkpoints-secs")) add("save-checkpoints-steps", options.header.min_steps);
    add("throttle-secs", 0);
  }
  return words;
}

std::vector<launch::Variable> trial_variables(Storage& storage, const TuneOptions& options, int64_t trial) {
  return {{"SHOAL_TRIAL", std::to_string(trial)}, {"SHOAL_REPORT_FILE", storage.full_path(report_file(options, trial))}};
}

}  // namespace shoal::cli::tune
