// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/session_link.h"

#include <signal.h>

#include <algorithm>

#include "shoal/base/number_text.h"

namespace shoal::cli::launch {
namespace {

/// A shell reports the death by a signal as a status above 128.
constexpr int kSignals = 128, kSignalsEnd = kSignals + 65;

}  // namespace

bool SessionLink::send(int signal, SteadyTime now) {
  if (ending_) return true;
  if (!begun_) {
    sent_before_begin_ = signal;
    return false;
  }
  if (signal == SIGKILL) {
    killed_ = true;
    kill_at_ = now + kKillLimit;
  }
  outbox_.add(signal == SIGKILL ? "kill\n" : "term\n");
  outbox_.send();
  return true;
}

bool SessionLink::time_passed(SteadyTime now) {
  if (next_beat_ <= now) {
    next_beat_ = now + kBeatEvery;
    if (outbox_.waits_for() < 0) outbox_.add("beat\n");
    outbox_.send();
  }
  if (!kill_at_ || *kill_at_ > now) return true;
  kill_at_.reset();
  return false;
}

std::string SessionLink::take(std::string_view bytes) {
  std::vector<std::string> said;
  std::string passed = lines_.take(bytes, said);
  for (const std::string& sentence : said) heed(sentence);
  return passed;
}

void SessionLink::heed(std::string_view sentence) {
  const std::string_view verb = sentence.substr(0, sentence.find(' '));
  const std::string rest(sentence.substr(std::min(sentence.size(), verb.size() + 1)));
  if (verb == "begun") {
    begun_ = true;
  } else if (verb == "listens") {
    listens_ = true;
  } else if (verb == "report") {
    report_ = rest;
  } else if (verb == "failed") {
    complaint_ = rest;
  } else if (verb == "ended") {
    const auto status = number_from<int>(std::string_view(rest).substr(0, rest.find(' ')));
    Ending ending{.status = status.value_or(1), .port_taken = rest.ends_with(" taken")};
    if (ending.status > kSignals && ending.status < kSignalsEnd) {
      ending.signal = ending.status - kSignals;
      ending.status = 0;
    }
    ending_ = ending;
  }
}

Ending SessionLink::ending() const {
  if (ending_) return *ending_;
  if (killed_) return {.signal = SIGKILL};
  if (sent_before_begin_ == SIGKILL) return {.signal = SIGKILL};
  if (sent_before_begin_ != 0) return {};  // Status 0: the task was asked to end before it began, and had nothing to save.
  return {.status = 1, .connection_lost = !complaint_};
}

}  // namespace shoal::cli::launch
