// SPDX-License-Identifier: Apache-2.0
#include "shoal/cli/cli.h"

#include <algorithm>
#include <string_view>

#include "commands.h"
#include "safe_text.h"
#include "shoal/arguments/command.h"
#include "shoal/base/environment.h"
#include "shoal/base/nearest_text.h"
#include "shoal/cluster/tf_config.h"

namespace shoal::cli {

void Context::complain(std::string_view sentence) const { err << name << ": " << clean_lines(sentence) << '\n'; }

namespace {

/// The error sentence for words that are not expected.
std::string unexpected(const arguments::Reading& reading, bool has_separator, const Self& self) {
  const arguments::Command& command = *reading.named;
  const std::vector<std::string>& words = reading.unexpected;
  const std::string word = words.front().substr(0, words.front().find('='));
  std::string sentence = arguments::not_expected(words);
  const bool starts_programs = command.name() == "launch" || command.name() == "tune";
  const std::string option = command.name() == "tune" ? " --dir d" : " --workers 2";
  if (starts_programs && !has_separator && !self.program.empty()) {
    return sentence + "; flags of " + self.name + " itself stand behind --, as in " + command.full_name() + option +
           " -- " + words.front();
  }
  if (starts_programs && !has_separator && !word.starts_with("-")) {
    return sentence + "; the program to " + command.name() + " stands behind --, as in " + command.full_name() + option +
           " -- " + words.front();
  }
  const std::vector<std::string> known = word.starts_with("-") ? command.flag_names() : command.command_names();
  if (std::find(known.begin(), known.end(), word) != known.end()) {
    sentence += "; " + word + " stands behind " + command.full_name();
  } else {
    sentence += did_you_mean(word, known);
  }
  return sentence + "; " + command.full_name() + " --help says what is";
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
  arguments::Command app("shoal", "");
  Action selected;
  for (const AddCommand add : all_commands()) add(app, selected);
  return app.command_names();
}

int cli_main(int argc, const char* const* argv, const ReadInput& in, TextOutput& out, TextOutput& err, Terminals terminals,
             const Self& self) {
  arguments::Command app(
      self.name,
      "Looks at what Shoal's training runs wrote, predicts with it, makes keys for new runs, launches them, searches for "
      "hyper-parameters, and looks at files of data.\nPrints JSON, CSV or text. Changes no file that exists, except that "
      "plot replaces its own pictures.");
  app.set_version("shoal " SHOAL_VERSION);
  const int own_words = count_own_words(argc, argv);
  Action selected;
  for (const AddCommand add : all_commands()) add(app, selected);
  if (argc < 2) {
    err << app.help();
    return exit_status(ErrorKind::kInvalidArgument);
  }
  const arguments::Reading reading = app.read({argv + 1, argv + own_words}, cluster::process_getenv);
  // Unknown words are told although help was asked for: one of them may be a misspelled command.
  const bool has_error = reading.error && !reading.help && !reading.version;
  if (has_error || !reading.unexpected.empty()) {
    err << self.name << ": "
        << clean_lines(has_error ? reading.error->message() + "; " + reading.named->full_name() + " --help says more"
                                 : unexpected(reading, own_words < argc, self))
        << '\n';
    return exit_status(ErrorKind::kInvalidArgument);
  }
  if (reading.help || reading.version) {
    selected = [&](Context& context) {
      context.out << (reading.help ? reading.named->help() : app.version() + "\n");
      return Result<int>(0);
    };
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
  if (!out.ok()) {
    context.complain("standard output could not be written; is its disk full, or its reader gone?");
    if (context.output_is_the_product) return exit_status(ErrorKind::kUnavailable);
  }
  return *status;
}

}  // namespace shoal::cli
