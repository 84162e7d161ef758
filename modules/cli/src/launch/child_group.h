// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program that is started in a process group of its own, so that whatever it starts can be ended with it.
#include <sys/resource.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/descriptor.h"
#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// The file that a shell would run for `name`: itself if there is a slash in it, else the first in the folders of PATH.
/// NotFound, FailedPrecondition: there is none that may be run.
Result<std::string> find_program(const std::string& name);

/// The folder in which this process runs. Unavailable: it is gone.
Result<std::string> current_folder();

/// This process's environment with `variables` in place of those of the same names.
std::vector<std::string> environment_with(std::span<const Variable> variables);

/// While it lives, this process adopts orphans among its descendants: the children of a child that has ended. So it learns
/// of their ends, too.
class OrphanAdoption {
 public:
  OrphanAdoption();
  ~OrphanAdoption();
  OrphanAdoption(const OrphanAdoption&) = delete;
  OrphanAdoption& operator=(const OrphanAdoption&) = delete;

 private:
  int before_ = 0;
};

/// Takes note of the ends of processes that an OrphanAdoption has brought: what a program started in a session of its own, and left.
/// `guard` and the processes of `groups` are left to those who wait for them.
void reap_adopted(pid_t guard, std::span<const pid_t> groups);

struct Program {
  std::string file;                      ///< What find_program() gives.
  std::vector<std::string> command;      ///< The name, and the arguments.
  std::vector<std::string> environment;  ///< "NAME=value".
  std::optional<rlim_t> files{};         ///< How many it may have open; nothing: as many as this process.
  bool reads_input = false;              ///< True: it reads what comes to input(); false: from /dev/null.
  /// A descriptor for all that it writes, in the place of output() and errors(); -1: these two.
  int log = -1;
  /// A descriptor that stays open in it, under its number; -1: none.
  int kept = -1;
  bool told_of_our_death = true;         ///< Whether the kernel sends it a SIGTERM when the thread that starts it dies.
};

/// The rest of this process's environment, without variables whose names begin with `prefix`.
std::vector<std::string> environment_without(std::string_view prefix);
/// This process's variables whose names begin with `prefix`, and are names for a shell, too.
std::vector<Variable> variables_that_begin_with(std::string_view prefix);

/// Lets this process have `count` files open, as far as it may. Returns how many it could have before, if that was less.
std::optional<rlim_t> allow_open_files(rlim_t count);
/// How many files the launcher of so many tasks has open: a port of each or a pipe to it, two from it, a log; and its own.
constexpr rlim_t files_for(size_t tasks) { return 4 * tasks + 64; }

/// Started, and ended with its owner (by SIGKILL). Used on the thread that starts it, with an OrphanAdoption: if that
/// thread dies, the program gets a SIGTERM from the kernel (unless it is not told), and the guard does the rest.
class ChildGroup {
 public:
  /// Unavailable: no process can be made, or the program cannot be run at the moment; FailedPrecondition: it cannot be run.
  static Result<ChildGroup> start(const Program& program);
  ChildGroup(ChildGroup&& other) noexcept;
  ChildGroup& operator=(ChildGroup&&) = delete;
  ~ChildGroup();

  pid_t id() const { return id_; }          ///< Of the program, and of its group.
  Descriptor& input() { return input_; }    ///< To what it reads; writing does not block.
  Descriptor& output() { return output_; }  ///< What it writes to standard output; reading does not block.
  Descriptor& errors() { return errors_; }  ///< The same of standard error.

  /// To the program and to all that it started in its group.
  void send(int signal) const;
  /// Takes note of processes that have ended. Nothing of it waits.
  void look();
  /// How the program ended, as waitpid() has it; nothing while it runs.
  std::optional<int> program_status() const { return status_; }
  /// The memory that the program has at the moment: its resident set. Nothing if the system does not say.
  std::optional<uint64_t> resident_bytes() const;
  /// No process of the group is left.
  bool is_gone() const { return gone_; }

 private:
  ChildGroup() = default;
  pid_t id_ = -1;
  Descriptor input_, output_, errors_;
  std::optional<int> status_{};
  bool gone_ = false;
};

}  // namespace shoal::cli::launch
