// SPDX-License-Identifier: Apache-2.0
#include "launch/screen.h"

#include <algorithm>
#include <chrono>
#include <span>

#include "shoal/monitor/terminal.h"

namespace shoal::cli::launch {
namespace {

constexpr Duration kDrawEvery = std::chrono::milliseconds(500);
// The table is drawn every kDrawEvery. If it was not drawn for this long, the user must have stopped this process (Ctrl-Z).
constexpr Duration kSurelyStopped = std::chrono::seconds(2);
constexpr Duration kPatienceAtTheEnd = std::chrono::seconds(1);
constexpr size_t kBytesAboveMax = size_t(64) * 1024;

}  // namespace

Screen::Screen(Context& context, bool table, bool json, Lines lines, std::string name)
    : json_(json), lines_(std::move(lines)), name_(std::move(name)), err_(context.err, name_) {
  if (!are_one_stream(context.out, context.err)) out_.emplace(context.out, name_);
  if (table) table_.emplace();
}

TextOutput& Screen::errors() { return table_ ? table_->above() : err_.lines(); }

TextOutput& Screen::output() { return json_ || table_ ? errors() : out().lines(); }

std::optional<SteadyTime> Screen::next_update() const {
  std::optional<SteadyTime> next = table_ ? std::optional(next_draw_) : std::nullopt;
  for (const auto& time : {err_.next_time(), out_ ? out_->next_time() : std::nullopt}) {
    if (time && (!next || *time < *next)) next = time;
  }
  return next;
}

void Screen::update(SteadyTime now) {
  if (table_ && now >= next_draw_) draw(now);
  send(now);
}

void Screen::send(SteadyTime now) {
  err_.send(now);
  if (out_) out_->send(now);
}

std::vector<int> Screen::writers() const { return {err_.waits_for(), out_ ? out_->waits_for() : -1}; }

std::optional<SteadyTime> Screen::waits_for_readers_until(SteadyTime now) const {
  const auto of_errors = err_.waits_for_reader_until(now);
  const auto of_output = out_ ? out_->waits_for_reader_until(now) : std::nullopt;
  return of_errors && of_output ? std::max(of_errors, of_output) : of_errors ? of_errors : of_output;
}

void Screen::begin_end() {
  send(steady_now());  // What the tasks have written last may be lost.
  err_.keep_all();
  if (out_) out_->keep_all();
}

void Screen::leave_table(SteadyTime now) {
  if (table_) draw(now);
  table_.reset();
}

void Screen::remove_table() {
  if (table_) err_.lines() << table_->close(monitor::read_terminal().columns);
  table_.reset();
}

void Screen::finish(SignalInbox& inbox) {
  const SteadyTime begun = steady_now();
  for (;;) {
    const SteadyTime now = steady_now();
    update(now);
    const bool keeps_errors = err_.has_kept_text(), keeps_output = out_ && out_->has_kept_text();
    if (!keeps_errors && !keeps_output) return;
    SteadyTime taken_at = begun;
    if (keeps_errors) taken_at = std::max(taken_at, err_.taken_at());
    if (keeps_output) taken_at = std::max(taken_at, out_->taken_at());
    std::optional<SteadyTime> until = next_update();
    if (inbox.stop_signal() != 0) {
      if (now >= taken_at + kPatienceAtTheEnd) return;
      until = std::min(until.value_or(SteadyTime::max()), taken_at + kPatienceAtTheEnd);
    }
    const int signals = inbox.descriptor();
    wait_for_input(std::span(&signals, 1), until, writers());
    inbox.take();
  }
}

void Screen::draw(SteadyTime now) {
  const monitor::Terminal terminal = monitor::read_terminal();
  // While this process was stopped, or not in the foreground, other programs may have written to the terminal.
  const bool was_stopped = next_draw_ != SteadyTime{} && now > next_draw_ + kSurelyStopped;
  if (!terminal.in_foreground || was_stopped) table_->leave_behind();
  next_draw_ = now + kDrawEvery;
  // While the terminal takes nothing, each new table would only be text that it has to take later. If a table was lost, the
  // next one cannot be drawn over it.
  if (err_.has_kept_text() && table_->bytes_above() < kBytesAboveMax) return;
  if (err_.loses_text()) table_->leave_behind();
  if (terminal.in_foreground) {
    err_.lines() << table_->redraw(lines_({.columns = terminal.columns, .lines = terminal.lines}), terminal.columns);
  } else {
    err_.lines() << table_->close(terminal.columns);
  }
}

}  // namespace shoal::cli::launch
