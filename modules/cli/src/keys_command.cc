// SPDX-License-Identifier: Apache-2.0
// Implements `shoal keys token [--out FILE] | ca | task`.
#include <CLI/CLI.hpp>
#include <ostream>

#include "certificate_commands.h"
#include "new_files.h"
#include "shoal/transport/token.h"

namespace shoal::cli {
namespace {

struct TokenOptions {
  std::optional<std::string> out;
};

Result<int> make_token(Context& context, const TokenOptions& options) {
  const std::string line = transport::Token::fresh().to_text() + "\n";
  if (options.out) {
    SHOAL_TRY_VOID(write_new_files({{*options.out, line, true}}));
  } else {
    context.out << line;
  }
  return 0;
}

}  // namespace

void add_keys_command(CLI::App& app, Action& selected) {
  CLI::App* keys = app.add_subcommand("keys", "Makes what the tasks of a job know each other by");
  keys->require_subcommand(1);
  CLI::App* token = keys->add_subcommand("token", "Prints a fresh token: whoever has it may take part in the job");
  const auto options = std::make_shared<TokenOptions>();
  token->add_option("--out", options->out,
                    "Writes it to this new file instead, which only you can read (for --token-file)");
  token->callback(
      [&selected, options] { selected = [options](Context& context) { return make_token(context, *options); }; });
  add_certificate_commands(*keys, selected);
}

}  // namespace shoal::cli
