// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads the command of a job: the flags of shoal::run(), in each spelling that a program accepts, and the variables that
/// `env` sets before a program.
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// A flag of shoal::run() that a command line gives.
struct GivenFlag {
  std::string name;                    ///< The flag with its dashes, as the help lists it: "--model-dir".
  std::optional<std::string> value{};  ///< Nothing for a switch, and for a flag whose value is missing.
  size_t word = 0;                     ///< The index of the flag's first word, which may be "--param".
  size_t words = 1;                    ///< How many words give the flag and its value.
};

struct ProgramCommand {
  std::vector<Variable> variables{};        ///< The variables that `env NAME=VALUE PROGRAM` sets.
  std::optional<std::string> env_option{};  ///< An option of env's own: "-i".
  size_t program = 0;                       ///< The index of the program's name; the number of words if it is missing.
  std::vector<GivenFlag> flags{};           ///< The flags in the order of the command line.

  /// The last flag of this name; null if it is not given.
  const GivenFlag* flag(std::string_view name) const;
  /// The value of the last flag of this name; nothing if it is not given.
  std::optional<std::string> value(std::string_view name) const;
  /// Whether a switch ("--insecure", "--insecure=true") is on.
  bool is_on(std::string_view name) const;
  /// The value that `env` gives the variable; nothing if the command does not set it.
  std::optional<std::string> variable(std::string_view name) const;
};

/// Splits the words of a command line into the program, the variables that `env` sets for it, and its flags. Every program that
/// calls shoal::run() has the flags of flags_with_values() and switches(). Any other word is one of the program's own flags, or
/// the value of one. "--NAME VALUE", "--NAME=VALUE", "--param NAME=VALUE" and "--param=NAME=VALUE" all give the flag NAME; in
/// the last two, NAME may have '_' in the place of '-'.
ProgramCommand read_command(std::span<const std::string> words);

/// Returns the command without the flag `flag` and without the variable `variable` that `env` sets.
std::vector<std::string> command_without(std::span<const std::string> words, std::string_view flag,
                                         std::string_view variable);

/// True if a program reads `value`, the value of a switch or of a variable, as "no".
bool says_no(std::string_view value);

/// The flags of shoal::run() that take a value, with their dashes. A test compares them with run()'s help text.
std::span<const std::string_view> flags_with_values();
/// The flags of shoal::run() that take no value.
std::span<const std::string_view> switches();

}  // namespace shoal::cli::launch
