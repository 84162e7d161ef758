// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Starts a program in a process group of its own, so that the program and all that it starts can be ended together.
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

/// Returns the file that a shell would run for `name`: `name` itself if it has a slash, else the first match in the folders
/// of PATH. NotFound: there is no such program. FailedPrecondition: the file is not executable.
Result<std::string> find_program(const std::string& name);

/// Returns the folder in which this process runs. Unavailable: the folder is gone.
Result<std::string> current_folder();

/// Returns this process's environment, in which `variables` replace variables of the same names.
std::vector<std::string> environment_with(std::span<const Variable> variables);

/// While this object lives, this process adopts orphans among its descendants (the children of a child that has ended), so
/// this process learns of the ends of these orphans, too.
class OrphanAdoption {
 public:
  OrphanAdoption();
  ~OrphanAdoption();
  OrphanAdoption(const OrphanAdoption&) = delete;
  OrphanAdoption& operator=(const OrphanAdoption&) = delete;

 private:
  int before_ = 0;
};

/// Collects the exit statuses of adopted orphans: processes that a program started in a session of its own and left behind.
/// Leaves out the process `guard`, whose status Guard::look() collects, and the processes of `groups`, whose statuses
/// ChildGroup::look() collects.
void reap_adopted(pid_t guard, std::span<const pid_t> groups);

struct Program {
  std::string file;                      ///< The result of find_program().
  std::vector<std::string> command;      ///< The program's name, and its arguments.
  std::vector<std::string> environment;  ///< "NAME=value".
  std::optional<rlim_t> files{};         ///< The limit of open files; nothing: that of this process.
  bool reads_input = false;              ///< True: it reads from input(); false: from /dev/null.
  /// A descriptor to which the program writes instead of output() and errors(); -1: there is none.
  int log = -1;
  /// A descriptor that stays open in the program, with the same number; -1: there is none.
  int kept = -1;
  bool told_of_our_death = true;  ///< True: the program gets a SIGTERM when the starting thread dies.
};

/// Returns this process's environment without the variables whose names begin with `prefix`.
std::vector<std::string> environment_without(std::string_view prefix);
/// Returns this process's variables whose names begin with `prefix` and can be set by a shell.
std::vector<Variable> variables_that_begin_with(std::string_view prefix);

/// Raises this process's limit of open files to `count`, or to the highest limit allowed. Returns the old limit if lower.
std::optional<rlim_t> allow_open_files(rlim_t count);
/// The number of files that a launcher has open: per task a port or input pipe, two output pipes and a log; and 64 more.
constexpr rlim_t files_for(size_t tasks) { return 4 * tasks + 64; }

/// A running program and its process group. The destructor kills all processes of the group. Use an object only on the
/// thread that made it, and while an OrphanAdoption exists. If this thread dies, the kernel sends the program a SIGTERM
/// (Program::told_of_our_death), and the guard, a helper process (guard.h), kills what is left of the group.
class ChildGroup {
 public:
  /// Starts a process. Unavailable: the system can make no process now, or cannot run the program now, but a later try may
  /// succeed. FailedPrecondition: no later try can run the program either.
  static Result<ChildGroup> start(const Program& program);
  ChildGroup(ChildGroup&& other) noexcept;
  ChildGroup& operator=(ChildGroup&&) = delete;
  ~ChildGroup();

  pid_t id() const { return id_; }          ///< The process number of the program and of its group.
  Descriptor& input() { return input_; }    ///< The pipe to its standard input; writing does not block.
  Descriptor& output() { return output_; }  ///< The pipe from its standard output; reading does not block.
  Descriptor& errors() { return errors_; }  ///< The pipe from its standard error; reading does not block.

  /// Sends a signal to the program and to everything in its group.
  void send(int signal) const;
  /// Collects the statuses of processes of the group that have ended, without waiting.
  void look();
  /// The program's status as waitpid() reports it; nothing while the program runs.
  std::optional<int> program_status() const { return status_; }
  /// The program's resident memory at the moment. Nothing if the system does not report it.
  std::optional<uint64_t> resident_bytes() const;
  /// True once no process of the group is left.
  bool is_gone() const { return gone_; }

 private:
  ChildGroup() = default;
  pid_t id_ = -1;
  Descriptor input_, output_, errors_;
  std::optional<int> status_{};
  bool gone_ = false;
};

}  // namespace shoal::cli::launch
