// SPDX-License-Identifier: Apache-2.0
#include "launch/hosts/sessions.h"

#include <signal.h>

#include <algorithm>

#include "launch/hosts/marked_lines.h"
#include "launch/hosts/outbox.h"
#include "launch/task_output.h"

namespace shoal::cli::launch {
namespace {

constexpr size_t kErrorBytesMax = size_t(64) * 1024;
constexpr size_t kReadBytesMax = size_t(1) << 20;

struct OpenSession {
  ChildGroup group;
  Outbox outbox;
  MarkedLines lines;
  SteadyTime killed_at;
  SessionOutcome outcome{};

  bool is_over() { return group.is_gone() && !group.output() && !group.errors(); }
};

Result<OpenSession> open_session(const Session& session, SteadyTime killed_at) {
  SHOAL_TRY(ChildGroup group, ChildGroup::start(session.program));
  Outbox outbox(std::move(group.input()), session.script, session.file);
  outbox.close_when_sent();
  return OpenSession{std::move(group), std::move(outbox), MarkedLines(session.mark), killed_at};
}

void read_session(OpenSession& session) {
  const auto take_output = [&](std::string_view bytes) {
    static_cast<void>(session.lines.take(bytes, session.outcome.said));
  };
  const auto take_errors = [&](std::string_view bytes) {
    session.outcome.errors += bytes.substr(0, kErrorBytesMax - std::min(kErrorBytesMax, session.outcome.errors.size()));
  };
  Descriptor& output = session.group.output();
  Descriptor& errors = session.group.errors();
  if (output && !read_what_is_there(output.number(), take_output, kReadBytesMax)) output.close();
  if (errors && !read_what_is_there(errors.number(), take_errors, kReadBytesMax)) errors.close();
}

bool asks_to_leave(const std::vector<int>& signals) {
  return std::any_of(signals.begin(), signals.end(), [](int signal) { return signal != SIGCHLD; });
}

/// Sends and reads as many bytes as possible without waiting. If the session has not ended within `patience` after the last
/// bytes were sent to it, kills it.
void go_on(OpenSession& session, Duration patience) {
  if (session.outbox.send()) session.killed_at = steady_now() + patience;
  read_session(session);
  session.group.look();
  if (session.killed_at > steady_now() || session.is_over()) return;
  session.outcome.in_time = false;
  session.group.send(SIGKILL);
  session.group.output().close();
  session.group.errors().close();
}

}  // namespace

std::optional<std::string> SessionOutcome::said_of(std::string_view verb) const {
  for (const std::string& sentence : said) {
    const std::string_view text(sentence);
    if (text.substr(0, text.find(' ')) == verb) return std::string(text.substr(std::min(text.size(), verb.size() + 1)));
  }
  return std::nullopt;
}

Result<std::vector<SessionOutcome>> run_sessions(const std::vector<Session>& sessions, Duration patience,
                                                 SignalInbox& inbox, OnSignal on_signal) {
  std::vector<OpenSession> open;
  open.reserve(sessions.size());
  for (const Session& session : sessions) {
    SHOAL_TRY(OpenSession one, open_session(session, steady_now() + patience));
    open.push_back(std::move(one));
  }
  const auto is_over = [](OpenSession& session) { return session.is_over(); };
  while (!std::all_of(open.begin(), open.end(), is_over)) {
    std::vector<int> readers{inbox.descriptor()}, writers;
    std::optional<SteadyTime> until;
    for (OpenSession& session : open) {
      readers.insert(readers.end(), {session.group.output().number(), session.group.errors().number()});
      writers.push_back(session.outbox.waits_for());
      if (!session.is_over()) until = std::min(until.value_or(session.killed_at), session.killed_at);
    }
    wait_for_input(readers, until, writers);
    if (asks_to_leave(inbox.take()) && on_signal == OnSignal::kGiveUp) return cancelled();
    for (OpenSession& session : open) go_on(session, patience);
  }
  std::vector<SessionOutcome> outcomes;
  for (OpenSession& session : open) outcomes.push_back(std::move(session.outcome));
  return outcomes;
}

}  // namespace shoal::cli::launch
