// shoal keys token [--out FILE]
#include <fcntl.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <ostream>

#include "command.h"
#include "shoal/transport/token.h"

namespace shoal::cli {
namespace {

struct TokenOptions {
  std::optional<std::string> out;
};

/// A file that only its owner can read, from the first byte on.
Result<void> write_secret(const std::string& path, const std::string& text) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (file < 0) {
    const std::string sentence = path + ": cannot be made: " + std::strerror(errno);
    return errno == EEXIST ? failed_precondition(sentence + "; nothing was changed") : unavailable(sentence);
  }
  const bool written = ::write(file, text.data(), text.size()) == ssize_t(text.size());
  if (::close(file) == 0 && written) return {};
  ::unlink(path.c_str());
  return unavailable(path + ": cannot be written; is the disk full?");
}

Result<int> make_token(Context& context, const TokenOptions& options) {
  const std::string line = transport::Token::fresh().to_text() + "\n";
  if (options.out) {
    SHOAL_TRY_VOID(write_secret(*options.out, line));
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
}

}  // namespace shoal::cli
