// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What runs on the hosts of a job: three scripts for the shell that every Unix has.
///
/// They come by the standard input of an ssh session (bootstrap()), and get all that they need as assignments before their
/// text: so a secret is in no command line and no file, and words reach the program as they are. What a script says it
/// prints as lines that begin with a *mark*, a random word that nothing else prints (MarkedLines).
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "launch/job_tasks.h"

namespace shoal::cli::launch {

/// What a host's shell is asked to run: it reads as many bytes of its input as the script has, and runs them. The rest of
/// the input is the script's.
std::string bootstrap(size_t script_bytes);

/// A folder for the job on one host, with the program in it if that is sent.
struct Preparation {
  std::string mark;
  std::string folder;                    ///< It is made.
  std::string work_folder;               ///< In which tasks will run; it has to be there.
  std::string program;                   ///< As the command has it.
  std::string copy_name{};               ///< What the program is called in `folder`; empty: it is on the host already.
  std::string copy_sum{};                ///< What cksum prints for it.
  std::vector<std::string> addresses{};  ///< Names that have to be known on the host.
};
/// Says `taken HEX...` (ports in use), `address NAME ADDRESS` (what the host makes of a name; no ADDRESS: nothing), and at
/// its end `ready`, or `failed SENTENCE`, and then has left nothing. After the script come the program's bytes, if there is
/// a copy, and the end.
std::string preparing_script(const Preparation& preparation);

/// One process of a task.
struct Supervision {
  std::string mark, folder, work_folder;
  std::string task;   ///< A name for files: "worker-1".
  uint16_t port = 0;  ///< Where it will listen; 0: nowhere.
  std::vector<Variable> variables{};
  std::vector<std::string> command;  ///< The program as it is to be called there, and its arguments.
  int silent_looks = 12;             ///< After how many silences of 5 s the program is killed.
};
/// Runs it in a session of its own, after it has killed what an earlier one of the same task has left. Says `begun`
/// just before, `listens` once somebody does at the port, `failed SENTENCE` if it could not begin, `report JSON` (the
/// task's results) and `ended STATUS [taken]`, as the shell has the status; `taken`: somebody else listens at the port.
///
/// Then come words, one a line: `term` and `kill` are signals for all that the program has started; `beat` says that
/// somebody is still there. The end of the input, or a minute without a beat, kills the program, too: it is not asked to
/// leave, since a chief would end the run, which may be going on elsewhere.
std::string supervising_script(const Supervision& supervision);

/// Kills what sessions have left in that folder of a job, and removes it. Says `removed`, or `failed SENTENCE`.
std::string cleaning_script(const std::string& mark, const std::string& folder);

}  // namespace shoal::cli::launch
