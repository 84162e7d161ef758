// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One process of a task: a program of this machine, or one of another machine at the end of an ssh session.
#include <optional>

#include "launch/child_group.h"
#include "launch/hosts/session_link.h"
#include "launch/task_output.h"

namespace shoal::cli::launch {

class TaskProcess {
 public:
  /// `group`: the program, or ssh, to whose other end `link` speaks.
  TaskProcess(ChildGroup group, TaskStream output, TaskStream errors, std::optional<SessionLink> link = {})
      : group_(std::move(group)), output_(std::move(output)), errors_(std::move(errors)), link_(std::move(link)) {}

  /// The process of this machine.
  ChildGroup& group() { return group_; }
  /// Where words go that end the other end; -1: there is none.
  int words() const { return link_ ? link_->number() : -1; }

  /// SIGINT, SIGTERM and SIGKILL, to the task and to all that it started.
  void send(int signal, SteadyTime now);
  /// Reads what is there to be read, and sends what is there to be sent.
  void read(bool output_is_ready, bool errors_are_ready);
  void write() {
    if (link_) link_->write();
  }
  /// The rest, once the process is gone.
  void read_rest();
  /// A descriptor to be waited for until it takes bytes; -1: none.
  int waits_to_write() const { return link_ ? link_->waits_to_write() : -1; }
  std::optional<SteadyTime> next_time() const { return link_ ? link_->next_time() : std::nullopt; }
  void time_passed(SteadyTime now);

  /// Once its group is gone.
  Ending ending() const;
  /// True if the other end has said that the task listens at its address.
  bool listens() const { return link_ && link_->listens(); }
  /// The task's results, where they came over the session.
  std::optional<std::string> report() const { return link_ ? link_->report() : std::nullopt; }
  /// What kept the other end from running it, in a sentence.
  std::optional<std::string> complaint() const { return link_ ? link_->complaint() : std::nullopt; }

 private:
  void take_output(std::string_view bytes);

  ChildGroup group_;
  TaskStream output_, errors_;
  std::optional<SessionLink> link_;
};

}  // namespace shoal::cli::launch
