// SPDX-License-Identifier: Apache-2.0
#include "tool_main.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <string_view>

#include "shoal/base/exhaustion.h"
#include "shoal/base/standard_descriptors.h"
#include "shoal/base/write_signals.h"
#include "shoal/monitor/terminal.h"

namespace shoal::cli {

namespace {

Result<size_t> read_standard_input(std::span<std::byte> to) {
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, to.data(), to.size());
    if (count >= 0) return size_t(count);
    if (errno != EINTR) return unavailable("standard input cannot be read: " + system_error_text(errno));
  }
}

}  // namespace

int tool_main(int argc, const char* const* argv, const Self& self) {
  // When the reader of a command's output is gone, SIGPIPE ends the command. Only `launch` and `tune` ignore this signal,
  // because they go on with their tasks.
  const bool launches = argc > 1 && (std::string_view(argv[1]) == "launch" || std::string_view(argv[1]) == "tune");
  // The effects of the next three objects must last until the process ends, since some output is only written after main().
  // So these objects are never destroyed.
  static const auto& write_errors = *new WriteSignalsAsErrors({.pipe = launches});
  static_cast<void>(write_errors);
  static const auto& exhaustion_errors = *new ExhaustionAsError;
  static_cast<void>(exhaustion_errors);
  static const auto& standard_descriptors = *new StandardDescriptors;
  static_cast<void>(standard_descriptors);
  const monitor::Terminal terminal = monitor::read_terminal();
  const Terminals terminals{
      .output = monitor::output_is_terminal(), .errors = terminal.renews_lines, .columns = terminal.columns};
  TextOutput out(stdout), err(stderr);
  return cli_main(argc, argv, read_standard_input, out, err, terminals, self);
}

}  // namespace shoal::cli
