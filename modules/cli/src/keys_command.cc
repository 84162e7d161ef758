// SPDX-License-Identifier: Apache-2.0
// Implements `shoal keys token [--out FILE] | metrics [--certificate] | ca | task | watcher`.

#include "certificate_commands.h"
#include "new_files.h"
#include "shoal/arguments/command.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/transport/scrape_access.h"
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

struct MetricsKeyOptions {
  std::optional<std::string> token_file;
  bool certificate = false;
  std::optional<std::string> out;
};

/// Reads SHOAL_TOKEN_FILE and SHOAL_TOKEN only if there is no --token-file: these variables may hold the token of another
/// job.
Result<int> make_metrics_key(Context& context, const MetricsKeyOptions& options) {
  transport::TokenSources sources{.file = options.token_file, .text = {}};
  if (!sources.file) {
    sources = {.file = cluster::process_getenv("SHOAL_TOKEN_FILE"), .text = cluster::process_getenv("SHOAL_TOKEN")};
  }
  SHOAL_TRY(const auto token, transport::find_token(sources));
  if (!token) {
    return invalid_argument(
        "keys metrics: which job? Name the file of its token (--token-file), or set SHOAL_TOKEN_FILE or SHOAL_TOKEN");
  }
  SHOAL_TRY(const transport::ScrapeAccess access, transport::scrape_access(*token));
  const std::string text = options.certificate ? access.own.certificate : access.bearer.text() + "\n";
  if (options.out) {
    SHOAL_TRY_VOID(write_new_files({{*options.out, text, !options.certificate}}));
  } else {
    context.out << text;
  }
  return 0;
}

void add_metrics_key_command(arguments::Command& keys, Action& selected) {
  arguments::Command& metrics = keys.add_command(
      "metrics",
      "Prints the secret that lets a monitoring system read /metrics of a job's tasks, and do nothing else; it is made of "
      "the job's token, which it tells nothing of");
  const auto options = std::make_shared<MetricsKeyOptions>();
  metrics.add("--token-file", options->token_file, "File that holds the job's token; or set SHOAL_TOKEN_FILE, SHOAL_TOKEN")
      .path("FILE");
  metrics.add_switch("--certificate", options->certificate,
                     "Prints instead the certificate by which the tasks prove themselves to it, in PEM (no secret)");
  metrics.add("--out", options->out, "Writes it to this new file instead; the secret so that only you can read it")
      .path("FILE");
  metrics.on_selected(
      [&selected, options] { selected = [options](Context& context) { return make_metrics_key(context, *options); }; });
}

}  // namespace

void add_keys_command(arguments::Command& app, Action& selected) {
  arguments::Command& keys = app.add_command("keys", "Makes what the tasks of a job know each other by");
  arguments::Command& token = keys.add_command("token", "Prints a fresh token: whoever has it may take part in the job");
  const auto options = std::make_shared<TokenOptions>();
  token.add("--out", options->out, "Writes it to this new file instead, which only you can read (for --token-file)")
      .path("FILE");
  token.on_selected(
      [&selected, options] { selected = [options](Context& context) { return make_token(context, *options); }; });
  add_metrics_key_command(keys, selected);
  add_certificate_commands(keys, selected);
}

}  // namespace shoal::cli
