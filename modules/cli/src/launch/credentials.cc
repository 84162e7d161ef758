#include "launch/credentials.h"

#include <algorithm>
#include <array>

#include "shoal/transport/token.h"

namespace shoal::cli::launch {

std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up) {
  static constexpr std::array kVariables{"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR", "SHOAL_INSECURE"};
  static constexpr std::array kFlags{"--token-file", "--tls-dir", "--insecure"};
  const bool by_variable = std::any_of(kVariables.begin(), kVariables.end(),
                                       [&](const char* name) { return !look_up(name).value_or("").empty(); });
  const bool by_flag = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    return std::any_of(kFlags.begin(), kFlags.end(),
                       [&](const std::string flag) { return word == flag || word.starts_with(flag + "="); });
  });
  if (SHOAL_CLI_TLS == 0 || by_variable || by_flag) return std::nullopt;
  return transport::Token::fresh().to_text();
}

}  // namespace shoal::cli::launch
