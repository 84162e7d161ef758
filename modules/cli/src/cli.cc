#include "shoal/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <string_view>

#include "commands.h"

namespace shoal::cli {

void Context::complain(std::string_view sentence) const { err << "shoal: " << sentence << '\n'; }

namespace {

/// How many words are the program's own: `launch` leaves those behind -- to the program that it launches.
int count_own_words(int argc, const char* const* argv) {
  if (argc < 2 || std::string_view(argv[1]) != "launch") return argc;
  return int(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

int cli_main(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err) {
  CLI::App app(
      "Looks at what Shoal's training runs wrote, predicts with it, makes keys for new runs, and launches them. Prints "
      "JSON or CSV; changes no file that is there.",
      "shoal");
  app.set_version_flag("--version", "shoal " SHOAL_VERSION);
  app.require_subcommand(1);
  const int own_words = count_own_words(argc, argv);
  Action selected;
  for (const AddCommand add : all_commands()) add(app, selected);
  if (argc < 2) {
    err << app.help();
    return exit_status(ErrorKind::kInvalidArgument);
  }
  try {
    app.parse(own_words, argv);
  } catch (const CLI::ExtrasError&) {  // Its own sentence has them in reverse.
    err << "shoal: not expected: " << CLI::detail::join(app.remaining(true), " ") << "; shoal --help says what is\n";
    return exit_status(ErrorKind::kInvalidArgument);
  } catch (const CLI::ParseError& error) {  // Help and version come here too.
    return app.exit(error, out, err) == 0 ? 0 : exit_status(ErrorKind::kInvalidArgument);
  }
  const std::unique_ptr<Storage> storage = make_file_storage();
  Context context{in, out, err, *storage};
  if (own_words < argc) context.program.assign(argv + own_words + 1, argv + argc);
  const Result<int> status = selected(context);
  out.flush();
  if (!status) {
    context.complain(status.error().message());
    return exit_status(status.error().kind());
  }
  if (!out) {
    context.complain("standard output could not be written; is its disk full, or its reader gone?");
    return exit_status(ErrorKind::kUnavailable);
  }
  return *status;
}

}  // namespace shoal::cli
