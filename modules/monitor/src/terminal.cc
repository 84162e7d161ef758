// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

namespace shoal::monitor {

Terminal read_terminal() {
  Terminal found;
  const char* kind = std::getenv("TERM");
  const bool dumb = kind == nullptr || std::string_view(kind) == "dumb";
  found.renews_lines = !dumb && ::isatty(STDERR_FILENO) == 1;
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);  // -1: not this process's terminal, so that no shell has a say.
  found.in_foreground = group == -1 || group == ::getpgrp();
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0) {
    if (size.ws_col > 0) found.columns = size.ws_col;
    if (size.ws_row > 0) found.lines = size.ws_row;
  }
  return found;
}

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

void write_to_stderr(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

}  // namespace shoal::monitor
