#include "launch/credentials.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "shoal/transport/token.h"

namespace shoal::cli::launch {

std::optional<std::string> token_for_job(std::span<const std::string> command, const cluster::GetEnv& look_up) {
  static constexpr std::array kVariables{"SHOAL_TOKEN", "SHOAL_TOKEN_FILE", "SHOAL_TLS_DIR", "SHOAL_INSECURE"};
  static constexpr std::array<std::string_view, 3> kFlags{"--token-file", "--tls-dir", "--insecure"};
  const bool by_variable = std::any_of(kVariables.begin(), kVariables.end(),
                                       [&](const char* name) { return !look_up(name).value_or("").empty(); });
  const bool by_flag = std::any_of(command.begin(), command.end(), [](const std::string& word) {
    const std::string_view name = std::string_view(word).substr(0, word.find('='));  // "--tls-dir=x" is one word.
    return std::find(kFlags.begin(), kFlags.end(), name) != kFlags.end();
  });
  if (SHOAL_CLI_TLS == 0 || by_variable || by_flag) return std::nullopt;
  return transport::Token::fresh().to_text();
}

}  // namespace shoal::cli::launch
