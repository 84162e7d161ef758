// SPDX-License-Identifier: Apache-2.0
#include "shoal/arguments/command_flags.h"

#include <algorithm>
#include <set>

#include "shoal/base/nearest_text.h"
#include "shoal/base/split_text.h"

namespace shoal::arguments {
namespace {

constexpr size_t kHelpColumns = 96, kHelpIndent = 6;

bool begins_a_flag(std::string_view word) { return word.size() > 2 && word.starts_with("--"); }

/// `text` in lines of at most kHelpColumns bytes, each after a margin. A longer word has a line of its own.
std::string in_lines(std::string_view text) {
  std::string lines, line;
  const auto end_line = [&] {
    lines += std::string(kHelpIndent, ' ') + line + "\n";
    line.clear();
  };
  for (const std::string_view word : split_at_blanks(text)) {
    if (!line.empty() && kHelpIndent + line.size() + 1 + word.size() > kHelpColumns) end_line();
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) end_line();
  return lines;
}

/// "  --batch INT (default 32)"
std::string heading(const Flag& flag) {
  std::string line = "  --" + flag.name;
  if (!flag.off_name.empty()) line += ", --" + flag.off_name;
  if (!flag.type.empty()) line += " " + flag.type;
  if (!flag.otherwise.empty()) line += " (default " + flag.otherwise + ")";
  if (!flag.variable.empty()) line += " (or set " + flag.variable + ")";
  if (!flag.excludes.empty()) line += " (not with --" + flag.excludes.front();
  for (size_t i = 1; i < flag.excludes.size(); ++i) line += ", --" + flag.excludes[i];
  if (!flag.excludes.empty()) line += ")";
  return line + "\n";
}

}  // namespace

/// The words of a command line, which are read from the first to the last.
struct CommandFlags::Words {
  const std::vector<std::string>& all;
  size_t next = 0;
  std::vector<std::string> unexpected = {};
  bool for_help = false;
};

void CommandFlags::add(std::string_view group, Flag flag) {
  if (std::find(groups_.begin(), groups_.end(), group) == groups_.end()) groups_.emplace_back(group);
  entries_.push_back({.flag = std::move(flag), .group = std::string(group)});
}

Result<void> CommandFlags::check() const {
  std::set<std::string> names{"help"};
  const auto check_name = [&names](const std::string& name) -> Result<void> {
    if (name.empty() || name.find_first_of("= \t\n") != std::string::npos || name.starts_with('-'))
      return invalid_argument("a flag cannot have the name \"" + name +
                              "\"; a name is a word without blanks and =, and is given without its dashes");
    if (!names.insert(name).second)
      return invalid_argument("there are two flags --" + name + "; rename one (all programs have those of --help)");
    return {};
  };
  for (const Entry& entry : entries_) {
    SHOAL_TRY_VOID(check_name(entry.flag.name));
    if (!entry.flag.off_name.empty()) SHOAL_TRY_VOID(check_name(entry.flag.off_name));
  }
  return {};
}

std::optional<size_t> CommandFlags::index_of(std::string_view name) const {
  for (size_t i = 0; i < entries_.size(); ++i) {
    if (!name.empty() && (entries_[i].flag.name == name || entries_[i].flag.off_name == name)) return i;
  }
  return std::nullopt;
}

const Flag* CommandFlags::find(std::string_view name) const {
  const std::optional<size_t> index = index_of(name);
  return index ? &entries_[*index].flag : nullptr;
}

bool CommandFlags::is_given(std::string_view name) const {
  const std::optional<size_t> index = index_of(name);
  return index && !entries_[*index].texts.empty();
}

/// The sentence names all unexpected words, and proposes a flag for the first.
Error CommandFlags::unexpected(const std::vector<std::string>& words) const {
  std::vector<std::string> names;
  for (const Entry& entry : entries_) {
    if (entry.flag.hidden) continue;
    names.push_back("--" + entry.flag.name);
    if (!entry.flag.off_name.empty()) names.push_back("--" + entry.flag.off_name);
  }
  std::string sentence = "not expected:";
  for (const std::string& word : words) sentence += " " + word;
  return invalid_argument(sentence + did_you_mean(words[0].substr(0, words[0].find('=')), names));
}

/// Reads one word that begins a flag, and the next one if that is its value.
Result<void> CommandFlags::read_flag(std::string_view word, Words& words) {
  const size_t equals = word.find('=');
  const std::string name(word.substr(2, equals == std::string_view::npos ? equals : equals - 2));
  std::optional<std::string> text;
  if (equals != std::string_view::npos) text.emplace(word.substr(equals + 1));
  const std::optional<size_t> index = index_of(name);
  if (!index) {
    words.unexpected.emplace_back(word);
    return {};
  }
  const Flag& flag = entries_[*index].flag;
  std::vector<std::string>& texts = entries_[*index].texts;
  if (flag.is_switch()) {
    Result<bool> on = read_switch(text.value_or("true"));
    if (!on) return std::move(on).error().with_context("--" + name);
    texts.emplace_back(*on == (name == flag.name) ? "true" : "false");
    return {};
  }
  if (!text) {
    if (words.next == words.all.size() || begins_a_flag(words.all[words.next]))
      return invalid_argument("--" + name + ": the value is missing (" + flag.type + ")");
    text = words.all[words.next++];
  }
  if (!texts.empty()) return invalid_argument("--" + name + " is given twice");
  texts.push_back(*std::move(text));
  return {};
}

void CommandFlags::read_variables(const GetVariable& variable) {
  for (Entry& entry : entries_) {
    if (entry.flag.variable.empty() || !entry.texts.empty()) continue;
    std::string text = variable(entry.flag.variable).value_or("");
    if (text.empty()) continue;
    entry.texts.push_back(std::move(text));
    entry.from_variable = true;
  }
}

Result<void> CommandFlags::check_excluded() const {
  for (const Entry& entry : entries_) {
    if (entry.texts.empty()) continue;
    for (const std::string& other : entry.flag.excludes) {
      if (is_given(other)) return invalid_argument("--" + entry.flag.name + " excludes --" + other);
    }
  }
  return {};
}

Result<void> CommandFlags::take_all() const {
  for (const Entry& entry : entries_) {
    if (entry.texts.empty()) continue;
    if (Result<void> taken = entry.flag.take(entry.texts.back()); !taken)
      return std::move(taken).error().with_context(entry.from_variable ? entry.flag.variable : "--" + entry.flag.name);
  }
  return {};
}

Result<bool> CommandFlags::read(const std::vector<std::string>& words, const GetVariable& variable) {
  Words reading{.all = words};
  while (reading.next < words.size()) {
    const std::string& word = words[reading.next++];
    if (word == "--help" || word == "-h") {
      reading.for_help = true;
    } else if (begins_a_flag(word)) {
      SHOAL_TRY_VOID(read_flag(word, reading));
    } else {
      reading.unexpected.push_back(word);
    }
  }
  if (reading.for_help) return false;
  if (!reading.unexpected.empty()) return unexpected(reading.unexpected);
  read_variables(variable);
  SHOAL_TRY_VOID(check_excluded());
  SHOAL_TRY_VOID(take_all());
  return true;
}

std::string CommandFlags::help(std::string_view program) const {
  std::string text = description_ + "\nUsage: " + std::string(program) + " [FLAGS]\n\n  -h, --help\n" + in_lines("Print this, and end");
  for (const std::string& group : groups_) {
    std::string flags;
    for (const Entry& entry : entries_) {
      if (entry.group == group && !entry.flag.hidden) flags += heading(entry.flag) + in_lines(entry.flag.help);
    }
    if (!flags.empty()) text += "\n" + group + ":\n" + flags;
  }
  return text + (footer_.empty() ? "" : "\n" + footer_ + "\n");
}

}  // namespace shoal::arguments
