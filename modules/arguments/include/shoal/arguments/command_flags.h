// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The flags of a command: reads a command line by them, and writes the help.
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/arguments/flag.h"

namespace shoal::arguments {

/// Flags are written "--name VALUE" or "--name=VALUE", and switches "--name" or "--name=false". A value that stands for
/// itself may begin with one dash ("--seed -5"), with two only behind "=". Each flag is given at most once, switches as
/// often as one likes: the last one counts. --help and -h are always there.
class CommandFlags {
 public:
  /// `description` and `footer` stand at the begin and at the end of the help.
  explicit CommandFlags(std::string description) : description_(std::move(description)) {}

  /// Adds a flag under the heading `group` of the help. Flags of a group stand together, groups in the order in which they
  /// came. The program's mistakes are reported by check().
  void add(std::string_view group, Flag flag);
  void set_footer(std::string footer) { footer_ = std::move(footer); }
  /// InvalidArgument for names that stand for two flags, or that no command line could have.
  Result<void> check() const;

  /// The flag of that name, which may be the name that turns off; null: none. The pointer is valid until the next add().
  const Flag* find(std::string_view name) const;
  /// True if the flag was given or its environment variable is set. Valid after read().
  bool is_given(std::string_view name) const;

  /// Reads the words behind the program's name, and calls Flag::take() of each flag that is given, in the order of add().
  /// `variable` gives the value of an environment variable; an empty one counts as not set. Returns false, without having
  /// called any Take, if the words ask for help. InvalidArgument: words that are no flags, values that are missing or
  /// refused, a flag given twice, flags that exclude each other.
  using GetVariable = std::function<std::optional<std::string>(std::string_view name)>;
  Result<bool> read(const std::vector<std::string>& words, const GetVariable& variable);

  std::string help(std::string_view program) const;

 private:
  struct Entry {
    Flag flag;
    std::string group;
    std::vector<std::string> texts = {};  // As given. Those that turned off by the second name say "false".
    bool from_variable = false;
  };
  struct Words;

  std::optional<size_t> index_of(std::string_view name) const;  // Of entries_.
  Result<void> read_flag(std::string_view word, Words& words);
  void read_variables(const GetVariable& variable);
  Result<void> check_excluded() const;
  Result<void> take_all() const;
  Error unexpected(const std::vector<std::string>& words) const;

  std::string description_, footer_;
  std::vector<std::string> groups_;
  std::vector<Entry> entries_;
};

}  // namespace shoal::arguments
