// SPDX-License-Identifier: Apache-2.0
#include "launch/program_command.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kParam = "--param";

constexpr std::array<std::string_view, 35> kWithValues{
    "--backend",
    "--batch",
    "--bind",
    "--cluster",
    "--compression",
    "--data-dir",
    "--compute-dtype",
    "--heartbeat-secs",
    "--model-dir",
    "--on-sigterm",
    "--lost-grace-secs",
    "--memory-limit",
    "--metrics",
    "--param",
    "--ps",
    "--rank",
    "--ready-timeout-secs",
    "--rendezvous",
    "--replicas",
    "--seed",
    "--spare-dir",
    "--replicas-to-aggregate",
    "--save-checkpoints-secs",
    "--source",
    "--steps",
    "--save-checkpoints-steps",
    "--strategy",
    "--threads",
    "--tls-dir",
    "--throttle-secs",
    "--token-file",
    "--transport",
    "--world-size",
    "--measure-input",
    "--predict",
};
constexpr std::array<std::string_view, 8> kSwitches{"--accept-changed-model",
                                                    "--allow-non-finite",
                                                    "--evaluator",
                                                    "--help",
                                                    "--insecure",
                                                    "--json",
                                                    "--profile",
                                                    "--quiet"};

bool is_one_of(std::string_view word, std::span<const std::string_view> names) {
  return std::find(names.begin(), names.end(), word) != names.end();
}

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

/// Turns "model_dir=m", the value of a --param, into "--model-dir=m".
std::string without_param(std::string_view given) {
  std::string name(given.substr(0, given.find('=')));
  std::replace(name.begin(), name.end(), '_', '-');
  return "--" + name + std::string(given.substr(name.size()));
}

/// True for an option of env whose value is the next word ("-u NAME"), not a part of this word ("-uNAME", "--unset=NAME").
bool takes_next_word(std::string_view option) {
  static constexpr std::array<std::string_view, 7> kOptions{"-u", "--unset", "-C", "--chdir", "-S", "--split-string", "-a"};
  return is_one_of(option, kOptions);
}

/// Reads `env [OPTION]... [NAME=VALUE]...` from word `at` on. Returns the index of the first word after it.
size_t read_env(std::span<const std::string> words, size_t at, ProgramCommand& command) {
  for (++at; at < words.size() && words[at].starts_with('-'); ++at) {
    command.env_option = words[at];
    if (takes_next_word(words[at])) ++at;
  }
  for (; at < words.size(); ++at) {
    const size_t equals = words[at].find('=');
    if (equals == std::string::npos || equals == 0) break;
    command.variables.emplace_back(words[at].substr(0, equals), words[at].substr(equals + 1));
  }
  return std::min(at, words.size());
}

/// Reads the program's flags from word `at` on.
void read_flags(std::span<const std::string> words, size_t at, ProgramCommand& command) {
  for (; at < words.size() && words[at] != "--"; ++at) {
    const size_t begin = at;
    const bool has_next = at + 1 < words.size();
    std::string word = words[at];
    if (word == kParam && has_next) {
      word = without_param(words[++at]);
    } else if (word.starts_with(std::string(kParam) + "=")) {
      word = without_param(std::string_view(word).substr(kParam.size() + 1));
    }
    const size_t equals = word.find('=');
    const std::string name = word.substr(0, equals);
    const bool with_value = is_one_of(name, kWithValues);
    if (!with_value && !is_one_of(name, kSwitches)) continue;
    GivenFlag& flag = command.flags.emplace_back(GivenFlag{.name = name, .word = begin});
    if (equals != std::string::npos) {
      flag.value = word.substr(equals + 1);
    } else if (with_value && at + 1 < words.size()) {
      flag.value = words[++at];
    }
    flag.words = at + 1 - begin;
  }
}

}  // namespace

const GivenFlag* ProgramCommand::flag(std::string_view name) const {
  const auto found = std::find_if(flags.rbegin(), flags.rend(), [&](const GivenFlag& given) { return given.name == name; });
  return found == flags.rend() ? nullptr : &*found;
}

std::optional<std::string> ProgramCommand::value(std::string_view name) const {
  const GivenFlag* const given = flag(name);
  return given ? given->value : std::nullopt;
}

bool ProgramCommand::is_on(std::string_view name) const {
  const GivenFlag* const given = flag(name);
  return given && !(given->value && says_no(*given->value));
}

std::optional<std::string> ProgramCommand::variable(std::string_view name) const {
  const auto found =
      std::find_if(variables.rbegin(), variables.rend(), [&](const Variable& set) { return set.first == name; });
  return found == variables.rend() ? std::nullopt : std::optional(found->second);
}

ProgramCommand read_command(std::span<const std::string> words) {
  ProgramCommand command;
  while (command.program < words.size() && base_name(words[command.program]) == "env") {
    command.program = read_env(words, command.program, command);
  }
  read_flags(words, std::min(command.program + 1, words.size()), command);
  return command;
}

std::vector<std::string> command_without(std::span<const std::string> words, std::string_view flag,
                                         std::string_view variable) {
  const ProgramCommand command = read_command(words);
  std::vector<bool> left_out(words.size());
  for (size_t i = 0; i < command.program && i < words.size(); ++i) {
    left_out[i] = words[i].starts_with(std::string(variable) + "=");
  }
  for (const GivenFlag& given : command.flags) {
    for (size_t i = 0; given.name == flag && i < given.words; ++i) left_out[given.word + i] = true;
  }
  std::vector<std::string> kept;
  for (size_t i = 0; i < words.size(); ++i) {
    if (!left_out[i]) kept.push_back(words[i]);
  }
  return kept;
}

bool says_no(std::string_view value) {
  std::string lower(value);
  std::transform(lower.begin(), lower.end(), lower.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  static constexpr std::array<std::string_view, 7> kNo{"", "0", "f", "false", "n", "no", "off"};
  return is_one_of(lower, kNo);
}

std::span<const std::string_view> flags_with_values() { return kWithValues; }
std::span<const std::string_view> switches() { return kSwitches; }

}  // namespace shoal::cli::launch
