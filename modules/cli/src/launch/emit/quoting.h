// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Texts of users inside of what is emitted: each reader has its own quotes, and its own signs that mean something in them.
/// All take UTF-8.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::cli::launch {

/// A double-quoted scalar of YAML, on one line.
std::string yaml_text(std::string_view text);
/// A list of them, "[...]".
std::string yaml_list(const std::vector<std::string>& texts);
/// For Kubernetes and compose, which put variables in the place of $(NAME) and $NAME, and $ in the place of $$.
std::string without_variables(std::string_view text);
std::vector<std::string> without_variables(const std::vector<std::string>& texts);
/// A word of a script of bash, on one line whatever is in it: sbatch refuses scripts with DOS line ends.
std::string bash_word(const std::string& text);
/// A word of a systemd unit, in quotes. $ is as it is: ExecStart= needs the prefix ":" to leave it so.
std::string unit_word(std::string_view text);
/// Whether the text has a code point that Unicode calls no character, which a unit holds in arguments only.
bool has_noncharacter(std::string_view text);

/// The text with the values in the place of "@name@". What values hold is not looked at again. Every @...@ of the text has
/// a value.
std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string>> values);

}  // namespace shoal::cli::launch
