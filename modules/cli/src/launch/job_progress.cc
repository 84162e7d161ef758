// SPDX-License-Identifier: Apache-2.0
#include "launch/job_progress.h"

#include <algorithm>
#include <utility>

#include "shoal/base/number_text.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kWaitingFor = "waiting for ";
// How a trainer's log line begins, and the words after which it gives the global step: "loss = 0.5, step = 100".
constexpr std::pair<std::string_view, std::string_view> kTrainersSteps[]{{"loss = ", ", step = "},
                                                                         {"training finished", " at global step "}};

struct LogLine {
  char level = 'I';
  std::string_view message;
};

/// Reads a line that stderr_sink() wrote: "12:34:56.789 I worker 1: message".
std::optional<LogLine> log_line(std::string_view line) {
  static constexpr std::string_view kForm = "00:00:00.000 L ";
  if (line.size() <= kForm.size()) return std::nullopt;
  for (size_t i = 0; i < kForm.size(); ++i) {
    const char c = line[i];
    if (kForm[i] == '0' ? c < '0' || c > '9' : kForm[i] != 'L' && c != kForm[i]) return std::nullopt;
  }
  const char level = line[kForm.size() - 2];
  if (std::string_view("DIWE").find(level) == std::string_view::npos) return std::nullopt;
  const size_t colon = line.find(": ", kForm.size());
  return LogLine{level, line.substr(colon == std::string_view::npos ? kForm.size() : colon + 2)};
}

/// True for the line in which a server logs that its chief has connected: "chief 0 is connected, from
/// tcp://127.0.0.1:45972". Before that, the server only waits for the chief.
bool is_leaders_arrival(std::string_view message) {
  return (message.starts_with("chief ") || message.starts_with("master ")) &&
         message.find(" is connected") != std::string_view::npos;
}

bool is_progress(std::string_view line) {
  return line.starts_with("step ") && line.find(" steps/s") != std::string_view::npos;
}

/// The whole number at the beginning of `text`; commas may stand between its digits.
std::optional<int64_t> leading_number(std::string_view text) {
  std::string digits;
  for (const char c : text) {
    if (c >= '0' && c <= '9') {
      digits += c;
    } else if (c != ',') {
      break;
    }
  }
  return number_from<int64_t>(digits);
}

/// The number behind the first occurrence of `words` in `text`.
std::optional<int64_t> number_behind(std::string_view text, std::string_view words) {
  const size_t at = text.find(words);
  return at == std::string_view::npos ? std::nullopt : leading_number(text.substr(at + words.size()));
}

/// The word before `unit`: "85.1" in "  85.1 steps/s".
std::string word_before(std::string_view text, std::string_view unit) {
  const size_t end = text.find(unit);
  if (end == std::string_view::npos) return {};
  const size_t space = text.rfind(' ', end - 1);
  return std::string(text.substr(space + 1, end - space - 1));
}

}  // namespace

LineKind kind_of(std::string_view line) {
  if (is_progress(line)) return LineKind::kProgress;
  const auto logged = log_line(line);
  if (!logged) return LineKind::kOwn;
  return logged->level == 'W' || logged->level == 'E' ? LineKind::kWarning : LineKind::kInformation;
}

void JobProgress::heed(size_t task, std::string_view line) {
  if (is_progress(line)) {
    tasks_[task].steps_per_second = word_before(line, " steps/s");
    tasks_[task].examples_per_second = word_before(line, " examples/s");
    if (const auto step = number_behind(line, "step ")) came_to(task, *step);
  } else if (const auto logged = log_line(line)) {
    heed_message(task, logged->message);
  }
}

/// Notes that a task has reached `step`.
void JobProgress::came_to(size_t task, int64_t step) {
  tasks_[task].works = true;
  tasks_[task].step = step;
  tasks_[task].waiting_for.clear();
  if (step <= std::exchange(job_step_, step)) return;
  for (size_t i = 0; i < roles_.size(); ++i) {
    if (roles_[i] == Role::kServer) tasks_[i].waiting_for.clear();
  }
}

void JobProgress::heed_message(size_t task, std::string_view message) {
  TaskProgress& progress = tasks_[task];
  if (const size_t at = message.find(kWaitingFor); at != std::string_view::npos) {
    progress.waiting_for = message.substr(at + kWaitingFor.size());
    return;
  }
  switch (roles_[task]) {
    case Role::kServer:
      if (message.starts_with("model ready")) progress.works = true;
      if (message.starts_with("model ready") || is_leaders_arrival(message)) progress.waiting_for.clear();
      return;
    case Role::kEvaluator:
      if (const auto step = number_behind(message, "global_step = ")) {
        progress.works = true;
        progress.step = step;
        progress.waiting_for.clear();
      }
      return;
    case Role::kChief:
    case Role::kWorker: break;
  }
  for (const auto& [begin, words] : kTrainersSteps) {
    if (!message.starts_with(begin)) continue;
    if (const auto step = number_behind(message, words)) came_to(task, *step);
  }
}

std::string state_text(const TaskState& state, Role role, const TaskProgress& progress, SteadyTime now) {
  if (state.start_at) {
    const auto left = std::chrono::ceil<std::chrono::seconds>(std::max(*state.start_at - now, Duration(0)));
    return "again in " + std::to_string(left.count()) + " s";
  }
  if (!state.runs) return state.done ? "done" : "ended";
  if (!progress.works) return "running";
  switch (role) {
    case Role::kServer: return "serving";
    case Role::kEvaluator: return "evaluating";
    case Role::kChief:
    case Role::kWorker: break;
  }
  return "training";
}

}  // namespace shoal::cli::launch
