// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A Command reads a command line, and writes its own help. It has arguments, and may have commands below it.
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/arguments/argument.h"

namespace shoal::arguments {

class Command;

/// The value of an environment variable; nothing: it is not set.
using GetVariable = std::function<std::optional<std::string>(std::string_view name)>;

/// The result of reading a command line.
struct Reading {
  Command* named = nullptr;                  ///< The command that the words name, or the one that they were read for.
  bool help = false, version = false;        ///< --help, -h or --version is among the words.
  std::vector<std::string> unexpected = {};  ///< The words that are neither flags nor values, in their order.
  std::optional<Error> error = {};           ///< The first mistake of another kind.
};

/// "not expected: " and the words.
std::string not_expected(const std::vector<std::string>& words);

/// Flags are written "--name VALUE" or "--name=VALUE", and switches "--name" or "--name=false". A value may begin with
/// dashes ("--seed -5"), but a value that is itself a flag of the command has to stand behind "=". Each flag may be given
/// once, unless its variable is a list. If a switch is given several times, the last one counts. Words behind a lone "--"
/// are no flags. Every command has --help and -h.
class Command {
 public:
  Command(std::string name, std::string description, const Command* parent = nullptr)
      : name_(std::move(name)), description_(std::move(description)), parent_(parent) {}
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;

  /// Adds an argument that stores its value in `variable`, which has to live as long as this object. `names` is "--days",
  /// "-d,--days", or for a word in its place a word without dashes, "DIR". A list takes each value of a flag that is
  /// repeated, or all words. The reference is valid as long as this object.
  template <class T>
  Argument& add(std::string_view names, T& variable, std::string help);
  /// Adds a switch that sets `on`. `names` may have a second long name, which turns off: "--shuffle,--no-shuffle".
  Argument& add_switch(std::string_view names, bool& on, std::string help);
  /// The same with functions that take the text.
  Argument& add_call(std::string_view names, Take take, std::string help);
  Argument& add_switch_call(std::string_view names, Take take, std::string help);

  /// Adds a command below this one. A command line then has to name one of these. The reference is valid as long as this
  /// object.
  Command& add_command(std::string name, std::string description);
  /// Called by read() if this command is named, and all arguments are taken.
  void on_selected(std::function<void()> call) { selected_ = std::move(call); }
  /// Text at the end of the help.
  void set_footer(std::function<std::string()> footer) { footer_ = std::move(footer); }
  void set_footer(std::string footer) {
    footer_ = [footer = std::move(footer)] { return footer; };
  }
  void set_version(std::string version) { version_ = std::move(version); }

  const std::string& name() const { return name_; }
  std::string full_name() const { return parent_ ? parent_->full_name() + " " + name_ : name_; }
  const Command* parent() const { return parent_; }
  std::vector<std::string> command_names() const;
  /// "--days", ..., without hidden ones.
  std::vector<std::string> flag_names() const;

  /// InvalidArgument for names that stand for two flags, or that no command line could have.
  Result<void> check_names() const;
  /// True for a flag of this command ("--days"), also after read().
  bool has_flag(std::string_view name) const { return find(name) != nullptr; }
  /// True if the argument was given, or its environment variable is set. A switch that is turned off counts as not given; its
  /// second name ("--no-shuffle") counts as given then. Valid after read().
  bool is_given(std::string_view name) const;

  /// Reads the words behind the program's name. Variables are stored, and functions called, if the reading has no mistake,
  /// and asks for neither help nor version. An empty environment variable counts as not set. Call it once.
  Reading read(const std::vector<std::string>& words, const GetVariable& variable);

  std::string help() const;
  const std::string& version() const { return version_; }

 private:
  struct Words;

  Argument& add_argument(std::string_view names, std::string help);
  Argument* find(std::string_view name) const;
  bool is_flag_of_ours(std::string_view word) const;
  void read_words(Words& words, Reading& reading);
  Result<void> read_flag(const std::string& word, Words& words, Reading& reading);
  Result<void> read_place(const std::string& word, Reading& reading);
  Result<void> finish(const GetVariable& variable);
  Result<void> check_given() const;
  Result<void> take_all() const;

  std::string name_, description_, version_;
  const Command* const parent_;
  std::function<std::string()> footer_;
  std::function<void()> selected_;
  std::vector<std::unique_ptr<Argument>> arguments_;
  std::vector<std::unique_ptr<Command>> commands_;
};

namespace detail {

template <class T>
struct IsList : std::false_type {};
template <class T>
struct IsList<std::vector<T>> : std::true_type {};

template <class T>
struct Single {
  using Type = T;
};
template <class T>
struct Single<std::optional<T>> {
  using Type = T;
};
template <class T>
struct Single<std::vector<T>> {
  using Type = T;
};

}  // namespace detail

template <class T>
Argument& Command::add(std::string_view names, T& variable, std::string help) {
  using Single = typename detail::Single<T>::Type;
  Argument& argument = add_call(
      names,
      [&variable](const std::string& text) -> Result<void> {
        SHOAL_TRY(Single value, read_as<Single>(text));
        if constexpr (detail::IsList<T>::value) {
          variable.push_back(std::move(value));
        } else {
          variable = std::move(value);
        }
        return {};
      },
      std::move(help));
  argument.repeats_ = detail::IsList<T>::value;
  argument.check([](const std::string& text) -> Result<void> {
    auto read = read_as<Single>(text);
    return read ? Result<void>() : std::move(read).error();
  });
  if constexpr (kIsNumber<Single>) argument.type_ = std::integral<Single> ? "INT" : "NUMBER";
  if constexpr (std::same_as<T, Single>) argument.current_ = text_of(variable);
  return argument;
}

}  // namespace shoal::arguments
