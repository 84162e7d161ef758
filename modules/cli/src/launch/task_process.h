// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One process of a task: a program on this machine, or one on another machine at the far end of an ssh session.
#include <optional>

#include "launch/child_group.h"
#include "launch/hosts/session_link.h"
#include "launch/task_output.h"

namespace shoal::cli::launch {

class TaskProcess {
 public:
  /// `group`: the program, or an ssh process. `link`: the session at the other end of ssh; nothing for a program here.
  TaskProcess(ChildGroup group, TaskStream output, TaskStream errors, std::optional<SessionLink> link = {})
      : group_(std::move(group)), output_(std::move(output)), errors_(std::move(errors)), link_(std::move(link)) {}

  /// The process on this machine.
  ChildGroup& group() { return group_; }
  /// The descriptor by which commands such as `term` reach the far end; -1: there is none.
  int words() const { return link_ ? link_->number() : -1; }

  /// Sends SIGINT, SIGTERM or SIGKILL to the task and to everything that it started.
  void send(int signal, SteadyTime now);
  /// Reads everything that can be read, and sends everything that can be sent.
  void read(bool output_is_ready, bool errors_are_ready);
  void write() {
    if (link_) link_->write();
  }
  /// Reads the rest of the output, once the process is gone.
  void read_rest();
  /// A descriptor that has text to send; -1: none.
  int waits_to_write() const { return link_ ? link_->waits_to_write() : -1; }
  std::optional<SteadyTime> next_time() const { return link_ ? link_->next_time() : std::nullopt; }
  void time_passed(SteadyTime now);

  /// How the process ended, once its group is gone.
  Ending ending() const;
  /// True if the script that runs the task on another machine has reported that the task listens at its address.
  bool listens() const { return link_ && link_->listens(); }
  /// The task's results, if the task ran on another machine and its ssh session has brought them.
  std::optional<std::string> report() const { return link_ ? link_->report() : std::nullopt; }
  /// The reason, in a sentence, why the far end could not run the program.
  std::optional<std::string> complaint() const { return link_ ? link_->complaint() : std::nullopt; }

 private:
  void take_output(std::string_view bytes);

  ChildGroup group_;
  TaskStream output_, errors_;
  std::optional<SessionLink> link_;
};

}  // namespace shoal::cli::launch
