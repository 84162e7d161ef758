// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One process of a task: a program on this machine, or a program that an ssh session runs on another machine.
#include <optional>

#include "launch/child_group.h"
#include "launch/hosts/session_link.h"
#include "launch/task_output.h"

namespace shoal::cli::launch {

class TaskProcess {
 public:
  /// `group`: the program of the task, or the ssh process that runs it on another machine. `link`: the ssh session; nothing
  /// for a program on this machine.
  TaskProcess(ChildGroup group, TaskStream output, TaskStream errors, std::optional<SessionLink> link = {})
      : group_(std::move(group)), output_(std::move(output)), errors_(std::move(errors)), link_(std::move(link)) {}

  /// The process that runs on this machine: the task's program, or the ssh process.
  ChildGroup& group() { return group_; }
  /// The descriptor by which commands such as `term` reach the script that runs the task on another machine; -1: the task
  /// runs on this machine.
  int words() const { return link_ ? link_->number() : -1; }

  /// Sends SIGINT, SIGTERM or SIGKILL to the task and to everything that it started.
  void send(int signal, SteadyTime now);
  /// read() reads the process's output and error stream, if these are ready: about 256 KiB of each at most. write() sends
  /// as many commands as the ssh process accepts.
  void read(bool output_is_ready, bool errors_are_ready);
  void write() {
    if (link_) link_->write();
  }
  /// Reads the output that the pipes still hold. Call it once the process is gone.
  void read_rest();
  /// The descriptor to which write() has to send text once it accepts bytes; -1: there is nothing to send.
  int waits_to_write() const { return link_ ? link_->waits_to_write() : -1; }
  std::optional<SteadyTime> next_time() const { return link_ ? link_->next_time() : std::nullopt; }
  void time_passed(SteadyTime now);

  /// How the process ended. Call it once no process of its process group is left.
  Ending ending() const;
  /// True if the script that runs the task on another machine has reported that the task listens at its address.
  bool listens() const { return link_ && link_->listens(); }
  /// The task's results, if the task ran on another machine and its ssh session has brought them.
  std::optional<std::string> report() const { return link_ ? link_->report() : std::nullopt; }
  /// Says in a sentence why the script on another machine could not run the task's program; nothing if it could.
  std::optional<std::string> complaint() const { return link_ ? link_->complaint() : std::nullopt; }

 private:
  void take_output(std::string_view bytes);

  ChildGroup group_;
  TaskStream output_, errors_;
  std::optional<SessionLink> link_;
};

}  // namespace shoal::cli::launch
