#include "launch/credentials.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>

#include "shoal/transport/token.h"

namespace shoal::cli::launch {

namespace {

/// As programs read the value of a flag.
bool says_no(std::string value) {
  std::transform(value.begin(), value.end(), value.begin(), [](unsigned char c) { return char(std::tolower(c)); });
  static constexpr std::array<std::string_view, 7> kNo{"", "0", "f", "false", "n", "no", "off"};
  return std::find(kNo.begin(), kNo.end(), value) != kNo.end();
}

}  // namespace

std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up) {
  static constexpr std::array kVariables{"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR"};
  static constexpr std::array<std::string_view, 3> kFlags{"--token-file", "--tls-dir", "--insecure"};
  const bool by_variable = std::any_of(kVariables.begin(), kVariables.end(),
                                       [&](const char* name) { return !look_up(name).value_or("").empty(); });
  const bool insecure = !says_no(look_up("SHOAL_INSECURE").value_or(""));
  const bool by_flag = insecure || std::any_of(command.begin(), command.end(), [](const std::string& word) {
                         const size_t equals = word.find('=');  // "--tls-dir=x" is one word.
                         const std::string_view name = std::string_view(word).substr(0, equals);
                         if (name == "--insecure" && equals != std::string::npos) return !says_no(word.substr(equals + 1));
                         return std::find(kFlags.begin(), kFlags.end(), name) != kFlags.end();
                       });
  if (SHOAL_CLI_TLS == 0 || by_variable || by_flag) return std::nullopt;
  return transport::Token::fresh().to_text();
}

Result<std::vector<Variable>> with_token_read(std::vector<Variable> variables) {
  static constexpr const char *kFile = "SHOAL_TOKEN_FILE", *kText = "SHOAL_TOKEN";
  transport::TokenSources sources;
  for (const auto& [name, value] : variables) {
    if (value.empty()) continue;
    if (name == kFile) sources.file = value;
    if (name == kText) sources.text = value;
  }
  if (!sources.file) return variables;
  SHOAL_TRY(const std::shared_ptr<const transport::Token> token, transport::find_token(sources));
  std::erase_if(variables, [](const Variable& variable) { return variable.first == kFile || variable.first == kText; });
  variables.emplace_back(kText, token->to_text());
  return variables;
}

}  // namespace shoal::cli::launch
