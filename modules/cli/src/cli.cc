// SPDX-License-Identifier: Apache-2.0
#include "shoal/cli/cli.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ostream>
#include <string_view>

#include "commands.h"
#include "shoal/base/environment.h"
#include "shoal/base/format.h"
#include "shoal/base/nearest_text.h"

namespace shoal::cli {

void Context::complain(std::string_view sentence) const { err << name << ": " << sentence << '\n'; }

namespace {

/// The command that the command line names, such as `shoal keys token` or `shoal launch`; the program itself if there is
/// none.
const CLI::App& named_command(const CLI::App& app) {
  const CLI::App* command = &app;
  while (!command->get_subcommands().empty()) command = command->get_subcommands().front();
  return *command;
}

/// Returns the full name of a command: "shoal keys token".
std::string line_of(const CLI::App& command) {
  const CLI::App* const parent = command.get_parent();
  return parent == nullptr ? command.get_name() : line_of(*parent) + " " + command.get_name();
}

/// Returns the flags of `command` if `word` begins with "-", else the names of its subcommands.
std::vector<std::string> known_words(const CLI::App& command, std::string_view word) {
  std::vector<std::string> words;
  if (word.starts_with("-")) {
    for (const CLI::Option* option : command.get_options()) {
      for (const std::string& name : option->get_lnames()) words.push_back("--" + name);
    }
  } else {
    for (const CLI::App* below : command.get_subcommands([](const CLI::App*) { return true; })) {
      words.push_back(below->get_name());
    }
  }
  return words;
}

/// The error sentence for unexpected `words`. CLI11's own sentence lists them in reverse order.
std::string unexpected(const CLI::App& app, const std::vector<std::string>& words, bool has_separator, const Self& self) {
  const CLI::App& command = named_command(app);
  const std::string word = words.front().substr(0, words.front().find('='));
  std::string sentence = "not expected: " + CLI::detail::join(words, " ");
  const bool starts_programs = command.get_name() == "launch" || command.get_name() == "tune";
  const std::string option = command.get_name() == "tune" ? " --dir d" : " --workers 2";
  if (starts_programs && !has_separator && !self.program.empty()) {
    return sentence + "; flags of " + self.name + " itself stand behind --, as in " + line_of(command) + option + " -- " +
           words.front();
  }
  if (starts_programs && !has_separator && !word.starts_with("-")) {
    return sentence + "; the program to " + command.get_name() + " stands behind --, as in " + line_of(command) + option +
           " -- " + words.front();
  }
  const std::vector<std::string> known = known_words(command, word);
  if (std::find(known.begin(), known.end(), word) != known.end()) {
    sentence += "; " + word + " stands behind " + line_of(command);
  } else {
    sentence += did_you_mean(word, known);
  }
  return sentence + "; " + line_of(command) + " --help says what is";
}

/// The words that `app` could not parse, without any "--", which only marks the end of the flags.
std::vector<std::string> words_left(const CLI::App& app) {
  std::vector<std::string> words = app.remaining(true);
  std::erase(words, "--");
  return words;
}

/// How many words of the command line belong to `shoal` itself. After `launch`, `tune` or `data bench`, the words that
/// follow "--" belong to the program that the command starts.
int count_own_words(int argc, const char* const* argv) {
  const auto is = [&](int word, std::string_view text) { return argc > word && argv[word] == text; };
  if (!is(1, "launch") && !is(1, "tune") && !(is(1, "data") && is(2, "bench"))) return argc;
  return int(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

}  // namespace

std::vector<std::string> command_names() {
  CLI::App app;
  Action selected;
  for (const AddCommand add : all_commands()) add(app, selected);
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    names.push_back(command->get_name());
  return names;
}

int cli_main(int argc, const char* const* argv, std::istream& in, std::ostream& out, std::ostream& err, Terminals terminals,
             const Self& self) {
  CLI::App app(
      "Looks at what Shoal's training runs wrote, predicts with it, makes keys for new runs, launches them, searches for "
      "hyper-parameters, and looks at files of data. Prints JSON, CSV or text; changes no file that is there.",
      self.name);
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
    const PlainLocale locale;  // CLI11 reads numbers by std::strtold(), which obeys the locale.
    app.parse(own_words, argv);
  } catch (const CLI::ParseError& error) {  // CLI11 reports help and version as such errors, too.
    // `left` has the words that were not parsed. If a command or a value is missing, one of these words may be a misspelled
    // form of it, so the error message names these words. It also names them if the user asked for help about an unknown
    // command.
    const std::vector<std::string> left = words_left(app);
    if (error.get_exit_code() == 0 && left.empty()) return app.exit(error, out, err);
    const bool by_words = error.get_exit_code() == 0 || dynamic_cast<const CLI::ExtrasError*>(&error) ||
                          dynamic_cast<const CLI::RequiredError*>(&error);
    err << self.name << ": "
        << (by_words && !left.empty() ? unexpected(app, left, own_words < argc, self)
                                      : error.what() + ("; " + line_of(named_command(app)) + " --help says more"))
        << '\n';
    return exit_status(ErrorKind::kInvalidArgument);
  }
  const std::unique_ptr<Storage> storage = make_file_storage();
  Context context{.in = in, .out = out, .err = err, .storage = *storage, .terminals = terminals, .name = self.name};
  context.program_is_own = !self.program.empty();
  if (context.program_is_own) context.program.push_back(self.program);
  if (own_words < argc) context.program.insert(context.program.end(), argv + own_words + 1, argv + argc);
  const Result<Result<int>> ran = call_user(self.name, [&] { return selected(context); });
  const Result<int> status = ran ? *ran : Result<int>(ran.error());
  out.flush();
  if (!status) {
    context.complain(status.error().message());
    return exit_status(status.error().kind());
  }
  if (!out) {
    context.complain("standard output could not be written; is its disk full, or its reader gone?");
    if (context.output_is_the_product) return exit_status(ErrorKind::kUnavailable);
  }
  return *status;
}

}  // namespace shoal::cli
