// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/terminal.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <cstdlib>

#include "shoal/base/prompt_write.h"

namespace shoal::monitor {
namespace {

bool is_dumb() {
  const char* kind = std::getenv("TERM");
  return kind == nullptr || std::string_view(kind) == "dumb";
}

/// Reads the terminal's size, if the terminal gives it.
void read_size(int descriptor, int& columns, int& lines) {
  winsize size{};
  if (::ioctl(descriptor, TIOCGWINSZ, &size) != 0) return;
  if (size.ws_col > 0) columns = size.ws_col;
  if (size.ws_row > 0) lines = size.ws_row;
}

}  // namespace

Terminal read_terminal() {
  Terminal found;
  found.renews_lines = !is_dumb() && ::isatty(STDERR_FILENO) == 1;
  const pid_t group = ::tcgetpgrp(STDERR_FILENO);  // -1: this terminal does not control the process.
  found.in_foreground = group == -1 || group == ::getpgrp();
  read_size(STDERR_FILENO, found.columns, found.lines);
  return found;
}

DrawingTerminal read_output_terminal() {
  DrawingTerminal found;
  found.is_terminal = output_is_terminal();
  found.renews_lines = found.is_terminal && !is_dumb();
  const char* no_colour = std::getenv("NO_COLOR");
  found.takes_colours = found.renews_lines && (no_colour == nullptr || *no_colour == '\0');
  read_size(STDOUT_FILENO, found.columns, found.lines);
  return found;
}

bool output_is_terminal() { return ::isatty(STDOUT_FILENO) == 1; }

void write_to_stderr(std::string_view text) { write_promptly(STDERR_FILENO, text); }

}  // namespace shoal::monitor
