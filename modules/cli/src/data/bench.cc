// SPDX-License-Identifier: Apache-2.0
// Implements `shoal data bench -- PROGRAM [ARGS...]`: replaces this process by the program, with flags that make it read
// its input without training.
#include <unistd.h>

#include <cerrno>

#include "data/data_commands.h"
#include "shoal/arguments/command.h"
#include "shoal/base/exhaustion.h"
#include "shoal/base/format.h"

namespace shoal::cli {
namespace {

struct BenchArguments {
  double seconds = 10;
  std::optional<int> threads;
  bool json = false;
};

Result<int> run_bench(Context& context, const BenchArguments& arguments) {
  if (context.program.empty()) {
    return invalid_argument("there is no program; it stands behind --, as in " + context.name +
                            " data bench -- ./train --batch 64");
  }
  std::vector<std::string> words = context.program;
  words.insert(words.end(), {"--measure-input", formatted("%.17g", arguments.seconds)});
  if (arguments.threads) words.insert(words.end(), {"--threads", std::to_string(*arguments.threads)});
  if (arguments.json) words.emplace_back("--json");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  context.out.flush();
  // The program replaces this process, so no process between the program and its caller has to pass on output, signals
  // and the exit status.
  ::execvp(argv[0], argv.data());
  const int number = errno;
  return not_found(words[0] + ": cannot be started: " + system_error_text(number));
}

}  // namespace

void add_bench(arguments::Command& data, Action& selected) {
  arguments::Command& command =
      data.add_command("bench",
                       "Measures how fast a program on shoal::run() reads its training input, without "
                       "training: elements and bytes per second, and the slowest stage. "
                       "The program and its arguments stand behind --");
  const auto arguments = std::make_shared<BenchArguments>();
  command.add("--seconds", arguments->seconds, "How long batches are read, after the first one")
      .check(arguments::in_range(0.01, 86400.0))
      .shows_default();
  command.add("--threads", arguments->threads, "Threads of the program").check(arguments::in_range(1, 4096));
  command.add_switch("--json", arguments->json, "Print one JSON object");
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return run_bench(context, *arguments); }; });
}

}  // namespace shoal::cli
