// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Quotes texts of users for emitted files. Each format has its own quotes and its own special characters. All functions
/// take UTF-8.
#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace shoal::cli::launch {

/// The text as a double-quoted YAML scalar, on one line.
std::string yaml_text(std::string_view text);
/// The texts as a YAML list of double-quoted scalars, "[...]".
std::string yaml_list(const std::vector<std::string>& texts);
/// Protects a text from the expansion of variables by Kubernetes and compose: they replace $(NAME) and $NAME, and read $$
/// as $.
std::string without_variables(std::string_view text);
std::vector<std::string> without_variables(const std::vector<std::string>& texts);
/// The text as one word of a bash script. Line ends and other control characters become escapes such as \n, so the word
/// stays on one line. (A DOS line end in it would make sbatch refuse the script.)
std::string bash_word(const std::string& text);
/// The text as a quoted word of a systemd unit. A $ is not escaped: ExecStart= needs the prefix ":" to leave it alone.
std::string unit_word(std::string_view text);
/// Whether the text has a code point that Unicode calls a noncharacter. A systemd unit accepts these in arguments only.
bool has_noncharacter(std::string_view text);

/// Replaces each "@name@" in the text by its value. Text in values is not replaced again. Every @...@ of the text needs a
/// value.
std::string filled(std::string_view text, std::initializer_list<std::pair<std::string_view, std::string>> values);

}  // namespace shoal::cli::launch
