// SPDX-License-Identifier: Apache-2.0
#include "launch/credentials.h"

#include <algorithm>
#include <array>

#include "launch/program_command.h"
#include "shoal/transport/token.h"

namespace shoal::cli::launch {
namespace {

constexpr const char *kFile = "SHOAL_TOKEN_FILE", *kText = "SHOAL_TOKEN";

}  // namespace

std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up) {
  static constexpr std::array kVariables{"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR"};
  const ProgramCommand program = read_command(command);
  const auto variable = [&](const char* name) {
    const std::optional<std::string> own = program.variable(name);
    return own ? *own : look_up(name).value_or("");
  };
  const bool by_variable =
      std::any_of(kVariables.begin(), kVariables.end(), [&](const char* name) { return !variable(name).empty(); });
  const bool by_flag = program.flag("--token-file") || program.flag("--tls-dir") || program.is_on("--insecure") ||
                       !says_no(variable("SHOAL_INSECURE"));
  if (SHOAL_CLI_TLS == 0 || by_variable || by_flag) return std::nullopt;
  return transport::Token::fresh().to_text();
}

Result<CommandWithToken> read_token_of_user(std::vector<std::string> command, const cluster::GetEnv& look_up) {
  const ProgramCommand program = read_command(command);
  const auto variable = [&](const char* name) -> std::optional<std::string> {
    const std::optional<std::string> own = program.variable(name);
    const std::string value = own ? *own : look_up(name).value_or("");
    return value.empty() ? std::nullopt : std::optional(value);
  };
  const std::optional<std::string> by_flag = program.value("--token-file");
  const transport::TokenSources sources{.file = by_flag ? by_flag : variable(kFile), .text = variable(kText)};
  if (SHOAL_CLI_TLS == 0 || !sources.file || sources.file->empty() || program.env_option) return CommandWithToken{command};
  const auto token = transport::find_token(sources);
  if (!token && token.error().kind() == ErrorKind::kNotFound) return CommandWithToken{command};
  if (!token) return token.error();
  // The file's variable is emptied, since an empty variable counts as one that is not set.
  return CommandWithToken{.command = command_without(command, "--token-file", kFile),
                          .variables = {{kText, (*token)->to_text()}, {kFile, ""}}};
}

Result<std::vector<Variable>> with_token_read(std::vector<Variable> variables) {
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
