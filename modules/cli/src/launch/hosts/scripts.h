// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Three scripts that run on the hosts of a job, for the shell that every Unix has.
///
/// A script comes by the standard input of an ssh session (bootstrap()), with all its parameters as assignments before its
/// text. So no secret is in a command line or a file, and words reach the program unchanged. A script reports in lines that
/// begin with a *mark*, a random word that nothing else prints (MarkedLines).
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// The command for a host's shell: it reads `script_bytes` bytes of its input and runs them as a script. The rest of the
/// input is for the script.
std::string bootstrap(size_t script_bytes);

/// Parameters of the script that prepares a host. The script makes a folder for the job and, if the host does not have the
/// program, stores the program there.
struct Preparation {
  std::string mark;
  std::string folder;                    ///< The folder to make.
  std::string work_folder;               ///< The folder in which tasks will run; it has to exist.
  std::string program;                   ///< The program's name or path, as the user's command gives it.
  std::string copy_name{};               ///< The program's file name in `folder`; empty: the host has the program.
  std::string copy_sum{};                ///< The text that cksum prints for the program.
  std::vector<std::string> addresses{};  ///< Names of hosts that this host has to look up.
};
/// The script that prepares a host. It reports `taken HEX...` (ports in use), `address NAME ADDRESS` (the address that the
/// host finds for a name; without ADDRESS: none), and at its end `ready`, or `failed SENTENCE` after removing everything.
/// If the program is sent to the host, its bytes follow the script on the standard input of the session.
std::string preparing_script(const Preparation& preparation);

/// Parameters of the script that runs one process of a task.
struct Supervision {
  std::string mark, folder, work_folder;
  std::string task;   ///< A name for files: "worker-1".
  uint16_t port = 0;  ///< The port where the task will listen; 0: none.
  std::vector<Variable> variables{};
  std::vector<std::string> command;  ///< The program's name on the host, and its arguments.
  int silent_looks = 12;             ///< The program is killed after this many periods of 5 s without a `beat`.
};
/// The script that runs a process of a task. It first kills what an earlier process of the task has left, and then runs the
/// program in a session of its own. Its reports: `begun` just before the start; `listens` once a process listens at the
/// port; `failed SENTENCE` if the program could not begin; `report JSON`, the task's results; at last `ended STATUS
/// [taken]`. STATUS is the shell's "$?", and `taken` means that another process listens at the port.
///
/// After the script, its standard input has commands, one per line. `term` and `kill` make the script send a signal to the
/// program and all that it has started. `beat` says that the launcher still runs. If the input ends, or no `beat` comes for
/// a minute, the script kills the program by SIGKILL. On a SIGTERM a chief would end the job, which may continue on other
/// hosts.
std::string supervising_script(const Supervision& supervision);

/// The script that removes what a job has left on a host. It kills the processes whose numbers the supervising scripts have
/// written to files in the job's `folder`, and removes the folder. It reports `removed`, or `failed SENTENCE`.
std::string cleaning_script(const std::string& mark, const std::string& folder);

}  // namespace shoal::cli::launch
