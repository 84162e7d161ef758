// SPDX-License-Identifier: Apache-2.0
// Writes the help of a command.
#include <algorithm>

#include "shoal/arguments/command.h"
#include "shoal/base/names_text.h"
#include "shoal/base/split_text.h"

namespace shoal::arguments {
namespace {

constexpr size_t kHelpColumns = 96, kHelpIndent = 6;

/// Breaks `text` into lines of at most kHelpColumns bytes, and puts `margin` blanks before each line. A word that is longer
/// than a line has one for itself.
std::string in_lines(std::string_view text, size_t margin = kHelpIndent) {
  std::string lines, line;
  const auto end_line = [&] {
    lines += std::string(margin, ' ') + line + "\n";
    line.clear();
  };
  for (const std::string_view word : split_at_blanks(text)) {
    if (!line.empty() && margin + line.size() + 1 + word.size() > kHelpColumns) end_line();
    line += (line.empty() ? "" : " ") + std::string(word);
  }
  if (!line.empty()) end_line();
  return lines;
}

/// Splits lines that are too wide, and leaves the others as they are.
std::string with_narrow_lines(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    lines += line.size() > kHelpColumns ? in_lines(line, 0) : std::string(line) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

}  // namespace

std::string Command::help() const {
  /// "  -d, --days INT (default 32)"
  const auto heading = [](const Argument& argument) {
    std::string line = "  " + argument.place_;
    if (!argument.short_.empty()) line += "-" + argument.short_ + (argument.long_.empty() ? "" : ", ");
    if (!argument.long_.empty()) line += "--" + argument.long_;
    if (!argument.off_.empty()) line += ", --" + argument.off_;
    if (!argument.type_.empty()) line += " " + argument.type_;
    if (!argument.otherwise_.empty()) line += " (default " + argument.otherwise_ + ")";
    if (!argument.variable_.empty()) line += " (or set " + argument.variable_ + ")";
    if (!argument.excludes_.empty()) line += " (not with " + comma_separated(argument.excludes_) + ")";
    if (!argument.needs_.empty()) line += " (with " + comma_separated(argument.needs_) + ")";
    return line + "\n";
  };
  std::string usage = "Usage: " + full_name();
  std::vector<std::string> groups;
  std::string places;
  for (const auto& argument : arguments_) {
    if (!argument->is_flag()) {
      usage += argument->required_ ? " " + argument->place_ : " [" + argument->place_ + "]";
      if (argument->repeats_) usage += "...";
      places += heading(*argument) + in_lines(argument->help_);
    } else if (std::find(groups.begin(), groups.end(), argument->group_) == groups.end()) {
      groups.push_back(argument->group_);
    }
  }
  std::string text = with_narrow_lines(description_) + usage + (commands_.empty() ? "" : " COMMAND") + " [FLAGS]\n\n" +
                     places + "  -h, --help\n" + in_lines("Print this, and end");
  if (!version_.empty()) text += "  --version\n" + in_lines("Print the version, and end");
  std::stable_partition(groups.begin(), groups.end(), [](const std::string& group) { return group.empty(); });
  for (const std::string& group : groups) {
    std::string flags;
    for (const auto& argument : arguments_) {
      if (argument->is_flag() && argument->group_ == group && !argument->hidden_)
        flags += heading(*argument) + in_lines(argument->help_);
    }
    if (!flags.empty()) text += (group.empty() ? "" : "\n" + group + ":\n") + flags;
  }
  if (!commands_.empty()) text += "\nCommands:\n";
  for (const auto& command : commands_) {
    constexpr size_t kMargin = 14;
    std::string lines = in_lines(command->description_, kMargin);
    const std::string begin = "  " + command->name_ + " ";
    lines.replace(0, std::min(begin.size(), kMargin), begin);
    text += lines;
  }
  return text + (footer_ ? "\n" + footer_() + "\n" : "");
}

}  // namespace shoal::arguments
