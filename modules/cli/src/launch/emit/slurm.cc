// SPDX-License-Identifier: Apache-2.0
// Writes a batch script for sbatch.
#include <algorithm>

#include "launch/emit/emit_job.h"
#include "launch/emit/quoting.h"
#include "launch/job_tasks.h"

namespace shoal::cli::launch {
namespace {

constexpr std::string_view kScript = R"(#!/bin/bash
#SBATCH --job-name=@name@
#SBATCH --ntasks=@tasks@
#SBATCH --distribution=cyclic
#SBATCH --output=@name@-%j.log
#SBATCH --signal=TERM@at@120
# A job of @size@, by shoal launch --emit slurm. Once, the secret by which the tasks know each other, in a
# file that all nodes see and only you can read:
#
#   mkdir -p -m 700 ~/.shoal; shoal keys token --out ~/.shoal/@name@-token
#
# Then sbatch @name@.sbatch (with --time, --nodes, --partition, ... before the name of the script). Two minutes before its
# time is over the job saves and leaves; the same command goes on from there. docs/how-to/batch-systems.md has more.
set -eu
export SHOAL_TOKEN_FILE="${SHOAL_TOKEN_FILE:-$HOME/.shoal/@name@-token}"
export SHOAL_PS=@ps@ SHOAL_EVALUATOR=@evaluator@
export SHOAL_ON_SIGTERM=end  # so that srun ends with 0; nothing starts a task again, but you this job
if [ ! -r "$SHOAL_TOKEN_FILE" ]; then
  echo "$SHOAL_TOKEN_FILE: there is no token; shoal keys token --out makes one" >&2
  exit 2
fi
exec srun --label --kill-on-bad-exit=1 --wait=0 @command@
)";

/// Returns the command in the form that follows srun's own options. srun takes a word ":" anywhere as the end of one
/// program and the beginning of another. So a command with such a word goes to a shell as one word, and srun starts the
/// shell.
std::string words_for_srun(const std::vector<std::string>& command) {
  std::string words;
  for (const std::string& word : command) words += (words.empty() ? "" : " ") + bash_word(word);
  const bool has_colon = std::ranges::find(command, ":") != command.end();
  return has_colon ? "/bin/bash -c " + shell_word("exec " + words) : words;
}

}  // namespace

std::vector<EmittedFile> emit_slurm(const EmitJob& job) {
  return {{job.name + ".sbatch", filled(kScript, {{"name", job.name},
                                                  {"at", "@"},
                                                  {"size", "chief," + to_string(job.size)},
                                                  {"tasks", std::to_string(job.size.tasks())},
                                                  {"ps", std::to_string(job.size.ps)},
                                                  {"evaluator", job.size.evaluator ? "1" : "0"},
                                                  {"command", words_for_srun(job.command)}})}};
}

}  // namespace shoal::cli::launch
