// SPDX-License-Identifier: Apache-2.0
#include "shoal/arguments/command.h"

#include <algorithm>
#include <set>

#include "shoal/base/check.h"
#include "shoal/base/names_text.h"

namespace shoal::arguments {
namespace {

bool begins_a_flag(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

/// "-o FILE" and "-oFILE", but not "-", "--" and "-5".
bool begins_a_short_flag(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word[1] != '-' && !(word[1] >= '0' && word[1] <= '9') && word[1] != '.';
}

/// Calls the checks of the argument `name` with the text.
Result<void> check_text(const std::vector<Take>& checks, const std::string& text, const std::string& name) {
  for (const Take& check : checks) {
    if (Result<void> fits = check(text); !fits) return std::move(fits).error().with_context(name);
  }
  return {};
}

std::vector<std::string> split_at_commas(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = std::min(text.find(',', begin), text.size());
    parts.emplace_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

}  // namespace

std::string not_expected(const std::vector<std::string>& words) {
  std::string sentence = "not expected:";
  for (const std::string& word : words) sentence += " " + word;
  return sentence;
}

/// The words of a command line, which are read from the first to the last.
struct Command::Words {
  const std::vector<std::string>& all;
  size_t next = 0;
};

Argument& Command::add_argument(std::string_view names, std::string help) {
  Argument& argument = *arguments_.emplace_back(std::make_unique<Argument>());
  for (const std::string& name : split_at_commas(names)) {
    if (name.starts_with("--")) {
      (argument.long_.empty() ? argument.long_ : argument.off_) = name.substr(2);
    } else if (name.starts_with("-")) {
      argument.short_ = name.substr(1);
    } else {
      argument.place_ = name;
    }
  }
  argument.help_ = std::move(help);
  return argument;
}

Argument& Command::add_call(std::string_view names, Take take, std::string help) {
  Argument& argument = add_argument(names, std::move(help));
  argument.take_ = std::move(take);
  if (argument.is_flag()) argument.type_ = "TEXT";
  return argument;
}

Argument& Command::add_switch_call(std::string_view names, Take take, std::string help) {
  Argument& argument = add_argument(names, std::move(help));
  argument.take_ = std::move(take);
  argument.is_switch_ = true;
  return argument;
}

Argument& Command::add_switch(std::string_view names, bool& on, std::string help) {
  const auto take = [&on](const std::string& text) -> Result<void> {
    on = text == "true";
    return {};
  };
  return add_switch_call(names, take, std::move(help));
}

Command& Command::add_command(std::string name, std::string description) {
  return *commands_.emplace_back(std::make_unique<Command>(std::move(name), std::move(description), this));
}

std::vector<std::string> Command::command_names() const {
  std::vector<std::string> names;
  for (const auto& command : commands_) names.push_back(command->name_);
  return names;
}

std::vector<std::string> Command::flag_names() const {
  std::vector<std::string> names{"--help"};
  for (const auto& argument : arguments_) {
    if (argument->hidden_) continue;
    if (!argument->long_.empty()) names.push_back("--" + argument->long_);
    if (!argument->off_.empty()) names.push_back("--" + argument->off_);
  }
  return names;
}

Result<void> Command::check_names() const {
  std::set<std::string> names{"help"};
  const auto check_name = [&names](const std::string& name) -> Result<void> {
    if (name.empty() || name.find_first_of("= \t\n") != std::string::npos || name.starts_with('-'))
      return invalid_argument("a flag cannot have the name \"" + name +
                              "\"; a name is a word without blanks, commas and =, and is given without its dashes");
    if (!names.insert(name).second)
      return invalid_argument("there are two flags --" + name + "; rename one (all programs have those of --help)");
    return {};
  };
  for (const auto& argument : arguments_) {
    if (argument->place_.empty() || argument->is_flag()) SHOAL_TRY_VOID(check_name(argument->long_));
    if (!argument->off_.empty()) SHOAL_TRY_VOID(check_name(argument->off_));
  }
  return {};
}

Argument* Command::find(std::string_view name) const {
  const bool is_long = name.starts_with("--");
  const std::string_view bare = name.substr(is_long ? 2 : name.starts_with("-") ? 1 : 0);
  if (bare.empty()) return nullptr;
  for (const auto& argument : arguments_) {
    if (is_long ? bare == argument->long_ || bare == argument->off_
                : bare == (name.starts_with("-") ? argument->short_ : argument->place_))
      return argument.get();
  }
  return nullptr;
}

bool Command::is_given(std::string_view name) const {
  const Argument* const argument = find(name);
  if (!argument || argument->texts_.empty()) return false;
  const bool turns_off = !argument->off_.empty() && name == "--" + argument->off_;
  return argument->is_in_effect() != turns_off;
}

/// True if a word behind a flag is a flag itself, and so cannot be the value. Other words may begin with dashes, as in
/// --launch "--ps 1".
bool Command::is_flag_of_ours(std::string_view word) const {
  return word == "--" || word == "--help" || word == "-h" || (begins_a_flag(word) && find(word.substr(0, word.find('='))));
}

/// Reads one word that begins a flag, and the next one if that is its value.
Result<void> Command::read_flag(const std::string& word, Words& words, Reading& reading) {
  std::string name;
  std::optional<std::string> text;
  if (begins_a_flag(word)) {
    const size_t equals = word.find('=');
    name = word.substr(0, equals);
    if (equals != std::string::npos) text = word.substr(equals + 1);
  } else {
    name = word.substr(0, 2);
    if (word.size() > 2) text = word.substr(2);
  }
  Argument* const argument = find(name);
  if (!argument) {
    reading.unexpected.push_back(word);
    return {};
  }
  if (argument->is_switch_) {
    Result<bool> on = read_switch(text.value_or("true"));
    if (!on) return std::move(on).error().with_context(name);
    argument->texts_.emplace_back(*on == (name != "--" + argument->off_) ? "true" : "false");
    return {};
  }
  if (!text) {
    if (words.next == words.all.size() || is_flag_of_ours(words.all[words.next]))
      return invalid_argument(name + ": the value is missing" +
                              (argument->type_.empty() ? "" : " (" + argument->type_ + ")"));
    text = words.all[words.next++];
  }
  if (!argument->texts_.empty() && !argument->repeats_) return invalid_argument(name + " is given twice");
  SHOAL_TRY_VOID(check_text(argument->checks_, *text, name));
  argument->texts_.push_back(*std::move(text));
  return {};
}

/// Gives the word to the first argument that has a place for it.
Result<void> Command::read_place(const std::string& word, Reading& reading) {
  for (const auto& argument : arguments_) {
    if (argument->is_flag() || (!argument->texts_.empty() && !argument->repeats_)) continue;
    SHOAL_TRY_VOID(check_text(argument->checks_, word, argument->place_));
    argument->texts_.push_back(word);
    return {};
  }
  reading.unexpected.push_back(word);
  return {};
}

void Command::read_words(Words& words, Reading& reading) {
  reading.named = this;
  bool has_flags = true;  // False behind "--".
  while (words.next < words.all.size()) {
    const std::string& word = words.all[words.next++];
    const auto below =
        std::find_if(commands_.begin(), commands_.end(), [&word](const auto& command) { return command->name_ == word; });
    if (has_flags && word == "--") {
      has_flags = false;
    } else if (has_flags && (word == "--help" || word == "-h")) {
      reading.help = true;
    } else if (has_flags && word == "--version" && !version_.empty()) {
      reading.version = true;
    } else if (below != commands_.end()) {
      return (*below)->read_words(words, reading);
    } else {
      const bool is_flag = has_flags && (begins_a_flag(word) || begins_a_short_flag(word));
      Result<void> read = is_flag ? read_flag(word, words, reading) : read_place(word, reading);
      if (!read && !reading.error) reading.error = std::move(read).error();
    }
  }
}

Result<void> Command::check_given() const {
  for (const auto& argument : arguments_) {
    const std::string name = argument->shown_name();
    if (argument->texts_.empty()) {
      if (argument->required_) return invalid_argument(name + " is required");
      continue;
    }
    if (!argument->is_in_effect()) continue;
    for (const std::string& other : argument->excludes_) {
      if (is_given(other)) return invalid_argument(name + " excludes " + other);
    }
    for (const std::string& other : argument->needs_) {
      if (!is_given(other)) return invalid_argument(name + " needs " + other);
    }
  }
  if (!commands_.empty()) return invalid_argument("a command is missing: one of " + comma_separated(command_names()));
  return {};
}

Result<void> Command::take_all() const {
  for (const auto& argument : arguments_) {
    std::vector<std::string> texts = argument->texts_;
    if (argument->is_switch_ && texts.size() > 1) texts.erase(texts.begin(), texts.end() - 1);
    for (const std::string& text : texts) {
      if (Result<void> taken = argument->take_(text); !taken)
        return std::move(taken).error().with_context(argument->from_variable_ ? argument->variable_
                                                                              : argument->shown_name());
    }
  }
  return {};
}

/// Checks and stores the arguments that read_words() has found for this command.
Result<void> Command::finish(const GetVariable& variable) {
  for (const auto& argument : arguments_) {
    if (argument->variable_.empty() || !argument->texts_.empty()) continue;
    std::string text = variable(argument->variable_).value_or("");
    if (text.empty()) continue;
    if (argument->is_switch_) {
      Result<bool> on = read_switch(text);
      if (!on) return std::move(on).error().with_context(argument->variable_);
      text = *on ? "true" : "false";
    }
    SHOAL_TRY_VOID(check_text(argument->checks_, text, argument->variable_));
    argument->texts_.push_back(std::move(text));
    argument->from_variable_ = true;
  }
  SHOAL_TRY_VOID(check_given());
  SHOAL_TRY_VOID(take_all());
  if (selected_) selected_();
  return {};
}

Reading Command::read(const std::vector<std::string>& words, const GetVariable& variable) {
  Reading reading;
  Words rest{.all = words};
  read_words(rest, reading);
  if (reading.help || reading.version || !reading.unexpected.empty() || reading.error) return reading;
  if (Result<void> finished = reading.named->finish(variable); !finished) reading.error = std::move(finished).error();
  return reading;
}

}  // namespace shoal::arguments
