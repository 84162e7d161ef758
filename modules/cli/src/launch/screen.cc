// SPDX-License-Identifier: Apache-2.0
#include "launch/screen.h"

#include <chrono>

#include "shoal/monitor/terminal.h"

namespace shoal::cli::launch {
namespace {

constexpr Duration kDrawEvery = std::chrono::milliseconds(500);
// The table is drawn every kDrawEvery. If it was not drawn for this long, the user must have stopped this process (Ctrl-Z).
constexpr Duration kSurelyStopped = std::chrono::seconds(2);

}  // namespace

Screen::Screen(Context& context, bool table, bool json, Lines lines, std::string name)
    : context_(context), json_(json), lines_(std::move(lines)), name_(std::move(name)) {
  if (table) table_.emplace();
}

TextOutput& Screen::errors() { return table_ ? table_->above() : context_.err; }

TextOutput& Screen::output() { return json_ || table_ ? errors() : context_.out; }

void Screen::update(SteadyTime now) {
  if (table_ && now >= next_draw_) draw(now);
  context_.out.flush();
  context_.err.flush();
}

void Screen::leave_table(SteadyTime now) {
  if (table_) draw(now);
  table_.reset();
}

void Screen::remove_table() {
  if (table_) context_.err << table_->close(monitor::read_terminal().columns);
  table_.reset();
}

void Screen::draw(SteadyTime now) {
  const monitor::Terminal terminal = monitor::read_terminal();
  // While this process was stopped, or not in the foreground, other programs may have written to the terminal.
  const bool was_stopped = next_draw_ != SteadyTime{} && now > next_draw_ + kSurelyStopped;
  if (!terminal.in_foreground || was_stopped) table_->leave_behind();
  next_draw_ = now + kDrawEvery;
  if (terminal.in_foreground) {
    context_.err << table_->redraw(lines_({.columns = terminal.columns, .lines = terminal.lines}), terminal.columns);
  } else {
    context_.err << table_->close(terminal.columns);
  }
}

}  // namespace shoal::cli::launch
