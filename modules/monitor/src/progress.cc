// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/progress.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <deque>
#include <mutex>

#include "shoal/base/format.h"

namespace shoal::monitor {
namespace {

constexpr std::string_view kClearLine = "\r\x1b[2K";

std::string with_separators(int64_t number) {
  std::string digits = std::to_string(number);
  for (int64_t at = int64_t(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) digits.insert(size_t(at), 1, ',');
  return digits;
}

}  // namespace

struct ProgressDisplay::State {
  struct Sample {
    SteadyTime time;
    int64_t step;
    int64_t examples;
  };

  State(ProgressOptions given_options, Write given_write) : options(given_options), write(std::move(given_write)) {}

  void take_sample(SteadyTime now, const ProgressState& state);
  std::string text_for(const ProgressState& state) const;
  void show(SteadyTime now, const ProgressState& state);
  void finish();

  const ProgressOptions options;
  const Write write;
  std::mutex mutex;
  // The members below are guarded by `mutex`.
  std::deque<Sample> samples;
  std::optional<SteadyTime> last_shown;
  std::string line;  // The line now on the terminal; empty: none.
};

/// Keeps the samples of the last rate_window and one older sample; the rate is the mean from the first sample to the last.
void ProgressDisplay::State::take_sample(SteadyTime now, const ProgressState& state) {
  const bool went_back =
      !samples.empty() && (state.global_step < samples.back().step || state.examples < samples.back().examples);
  if (went_back) samples.clear();  // A checkpoint was restored: rates start anew.
  samples.push_back({now, state.global_step, state.examples});
  while (samples.size() > 2 && samples[1].time <= now - options.rate_window) samples.pop_front();
}

std::string ProgressDisplay::State::text_for(const ProgressState& state) const {
  std::string text = "step ";
  text += with_separators(state.global_step);
  if (state.max_steps) text.append("/").append(with_separators(*state.max_steps));
  if (state.loss) text += "  loss " + formatted("%.4g", *state.loss);
  const double seconds = samples.size() < 2 ? 0 : to_seconds(samples.back().time - samples.front().time);
  if (seconds > 0) {
    const double steps_per_second = double(samples.back().step - samples.front().step) / seconds;
    const double examples_per_second = double(samples.back().examples - samples.front().examples) / seconds;
    text += "  " + format_rate(steps_per_second) + " steps/s";
    if (examples_per_second > 0) text += "  " + format_rate(examples_per_second) + " examples/s";
    const double steps_left = state.max_steps ? double(*state.max_steps - state.global_step) : 0;
    // At a rate near zero the time left would mean nothing, so more than 1e7 s are not shown.
    if (steps_left > 0 && steps_per_second > 0 && steps_left / steps_per_second < 1e7) {
      text += "  " + format_duration(seconds_to_duration(steps_left / steps_per_second)) + " left";
    }
  }
  if (!state.note.empty()) text += "  " + std::string(state.note);
  return text;
}

void ProgressDisplay::State::show(SteadyTime now, const ProgressState& state) {
  take_sample(now, state);
  last_shown = now;
  std::string text = text_for(state);
  if (options.mode == ProgressMode::kPlain) {
    write(text + "\n");
    return;
  }
  // Leaves one column free: a full line would wrap, and a wrapped line cannot be cleared.
  text.resize(std::min(text.size(), size_t(std::max(options.columns, 11) - 1)));
  line = std::move(text);
  write(std::string(kClearLine) + line);
}

void ProgressDisplay::State::finish() {
  if (line.empty()) return;
  line.clear();
  write("\n");
}

ProgressDisplay::ProgressDisplay(ProgressOptions options, Write write)
    : state_(std::make_shared<State>(options, std::move(write))) {}

ProgressDisplay::~ProgressDisplay() { finish(); }

void ProgressDisplay::update(SteadyTime now, const ProgressState& state) {
  if (state_->options.mode == ProgressMode::kOff) return;
  const std::lock_guard lock(state_->mutex);
  const bool plain = state_->options.mode == ProgressMode::kPlain;
  if (plain && !state_->last_shown) {  // A log gets its first line once a rate is known.
    state_->take_sample(now, state);
    state_->last_shown = now;
    return;
  }
  const Duration interval = plain ? state_->options.plain_interval : state_->options.line_interval;
  if (!state_->last_shown || now >= *state_->last_shown + interval) state_->show(now, state);
}

void ProgressDisplay::update_now(SteadyTime now, const ProgressState& state) {
  if (state_->options.mode == ProgressMode::kOff) return;
  const std::lock_guard lock(state_->mutex);
  state_->show(now, state);
}

void ProgressDisplay::finish() {
  const std::lock_guard lock(state_->mutex);
  state_->finish();
}

LogSink ProgressDisplay::wrap(LogSink inner) {
  if (state_->options.mode != ProgressMode::kLine) return inner;
  return [state = state_, inner = std::move(inner)](const LogRecord& record) {
    const std::lock_guard lock(state->mutex);
    if (!state->line.empty()) state->write(kClearLine);
    inner(record);
    if (!state->line.empty()) state->write(state->line);
  };
}

ProgressMode choose_progress_mode(ProgressChoice choice) {
  if (choice.quiet || choice.json) return ProgressMode::kOff;
  return choice.renews_lines ? ProgressMode::kLine : ProgressMode::kPlain;
}

std::string format_duration(Duration duration) {
  const auto seconds = std::max<int64_t>(0, std::chrono::duration_cast<std::chrono::seconds>(duration).count());
  if (seconds < 60) return std::to_string(seconds) + " s";
  if (seconds < 3600) return std::to_string(seconds / 60) + " min " + std::to_string(seconds % 60) + " s";
  return std::to_string(seconds / 3600) + " h " + std::to_string(seconds % 3600 / 60) + " min";
}

std::string format_rate(double per_second) {
  if (!std::isfinite(per_second)) return "?";
  if (per_second >= 999.5) return with_separators(int64_t(std::min(per_second, 9e17) + 0.5));
  if (per_second >= 99.95) return formatted("%.0f", per_second);
  if (per_second >= 9.995) return formatted("%.1f", per_second);
  if (per_second >= 0.1 || per_second == 0) return formatted("%.2f", per_second);
  return formatted("%.2g", per_second);
}

std::string format_bytes(uint64_t bytes) {
  constexpr std::array<const char*, 5> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB"};
  if (bytes < 1024) return std::to_string(bytes) + " B";
  double amount = double(bytes) / 1024;
  size_t unit = 0;
  for (; amount >= 1023.95 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return formatted("%.1f", amount) + " " + kUnits[unit];
}

}  // namespace shoal::monitor
