// SPDX-License-Identifier: Apache-2.0
#include "tune/trial_command.h"

#include <algorithm>
#include <array>

#include "launch/program_command.h"

namespace shoal::cli::tune {
namespace {

constexpr std::array<std::string_view, 6> kGivenBySearch{"model-dir", "json", "help", "predict", "measure-input", "param"};

/// True if a word of the command is this flag.
bool gives(const std::vector<std::string>& words, const std::string& flag) {
  return std::ranges::any_of(words, [&](const std::string& word) { return word == flag || word.starts_with(flag + "="); });
}

void add(std::vector<std::string>& words, const launch::ProgramCommand& own, const char* flag, int64_t value) {
  if (!own.flag(flag)) words.push_back(std::string(flag) + "=" + std::to_string(value));
}

}  // namespace

Result<void> check_program(const std::vector<std::string>& program, const tuning::Space& space) {
  if (launch::read_command(program).flag("--model-dir")) {
    return invalid_argument("the program's command gives --model-dir, which each trial gets from the search: leave it out");
  }
  for (const tuning::Parameter& parameter : space.parameters()) {
    if (std::ranges::find(kGivenBySearch, parameter.name) != kGivenBySearch.end()) {
      return invalid_argument("--" + parameter.name + " cannot be searched; leave the parameter " + parameter.name +
                              " out");
    }
    if (gives(program, "--" + parameter.name)) {
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
  const launch::ProgramCommand own = launch::read_command(options.header.program);
  for (const auto& [name, value] : trial.parameters) words.push_back("--" + name + "=" + tuning::text_of(value));
  words.push_back("--model-dir=" + trial_folder(options, trial.number));
  const auto searched = [&](std::string_view name) {
    return std::ranges::any_of(trial.parameters, [&](const auto& parameter) { return parameter.first == name; });
  };
  if (options.threads > 0 && !searched("threads")) add(words, own, "--threads", options.threads);
  if (options.header.max_steps > 0 && !searched("steps")) add(words, own, "--steps", options.header.max_steps);
  if (options.header.algorithm == tuning::Algorithm::kAsha) {
    if (!own.flag("--save-checkpoints-secs")) add(words, own, "--save-checkpoints-steps", options.header.min_steps);
    add(words, own, "--throttle-secs", 0);
  }
  return words;
}

std::vector<launch::Variable> trial_variables(const TuneOptions& options, int64_t trial) {
  return {{"SHOAL_TRIAL", std::to_string(trial)}, {"SHOAL_REPORT_FILE", report_file(options, trial)}};
}

}  // namespace shoal::cli::tune
