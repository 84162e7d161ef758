// SPDX-License-Identifier: Apache-2.0
#include "flag_values.h"

#include "flag_lists.h"
#include "shoal/base/number_text.h"
#include "shoal/estimator/profiler.h"
#include "shoal/monitor/progress.h"
#include "shoal/monitor/terminal.h"

namespace shoal {
namespace {

constexpr const char* kOnSigterm = "SHOAL_ON_SIGTERM";
// The environment variable for the seconds between progress lines in a log.
constexpr const char* kProgressSecs = "SHOAL_PROGRESS_SECS";

/// The interval from the environment; nothing if it is not set.
Result<std::optional<Duration>> progress_interval() {
  const std::optional<std::string> text = cluster::process_getenv(kProgressSecs);
  if (!text || text->empty()) return std::nullopt;
  const std::optional<double> seconds = number_from<double>(*text);
  if (seconds && *seconds > 0 && *seconds <= 1e9) return seconds_to_duration(*seconds);
  return invalid_argument(std::string(kProgressSecs) + " is \"" + *text + "\", expected a number of seconds above 0");
}

/// Returns what a task does on SIGTERM: what the flag says, else what the environment variable says, else kEnd, which ends
/// the job.
Result<OnSigterm> on_sigterm_of(const ParsedFlags& flags) {
  if (flags.on_sigterm) return *flags.on_sigterm;
  const std::string text = cluster::process_getenv(kOnSigterm).value_or("");
  return text.empty() ? OnSigterm::kEnd : parse_on_sigterm(text, kOnSigterm);
}

/// Makes the display that shows progress on standard error. Its form depends on whether standard error is a terminal or a
/// log file.
std::shared_ptr<monitor::ProgressDisplay> progress_display(const ParsedFlags& flags, std::optional<Duration> interval) {
  const monitor::Terminal terminal = monitor::read_terminal();
  const monitor::ProgressChoice choice{
      .quiet = flags.quiet, .json = flags.command_line.json, .renews_lines = terminal.renews_lines};
  monitor::ProgressOptions options{.mode = monitor::choose_progress_mode(choice), .columns = terminal.columns};
  if (interval) options.plain_interval = *interval;
  return std::make_shared<monitor::ProgressDisplay>(options, monitor::write_to_stderr);
}

}  // namespace

CommandLine command_line(const ProgramInfo& program, const ParsedFlags& flags) {
  CommandLine line = flags.command_line;
  for (const ProgramFlag& flag : program.flags) {
    Params::Item item = *flag.otherwise;
    const auto text = flags.texts.find(flag.name);
    if (std::holds_alternative<bool>(item)) {
      item = flags.switches.at(flag.name);
    } else if (text != flags.texts.end()) {
      if (std::holds_alternative<int64_t>(item)) item = *number_from<int64_t>(text->second);
      if (std::holds_alternative<double>(item)) item = *number_from<double>(text->second);
      if (std::holds_alternative<std::string>(item)) item = text->second;
      // read_list() cannot fail: the text passed the same check when the command line was parsed.
      if (is_list(item)) item = value_or_raise(read_list(text->second, flag));
    }
    line.flags.set(flag.name, std::move(item));
  }
  return line;
}

Result<RunConfigOptions> run_config_options(const ProgramInfo& program, const ParsedFlags& flags) {
  RunConfigOptions options = flags.config;
  if (flags.save_steps) options.save_checkpoints_steps = *flags.save_steps;
  if (flags.save_secs) options.save_checkpoints_secs = *flags.save_secs;
  if (!flags.save_steps && !flags.save_secs) {
    if (program.save_checkpoints_steps) {
      options.save_checkpoints_steps = *program.save_checkpoints_steps;
    } else {
      options.save_checkpoints_secs = kFlagsSaveSecs;
    }
  }
  SHOAL_TRY(options.on_sigterm, on_sigterm_of(flags));
  if (flags.cluster) options.ready_timeout_secs = kThreadsReadyTimeoutSecs;
  if (flags.ready_timeout_secs) options.ready_timeout_secs = *flags.ready_timeout_secs;
  options.runtime = flags.runtime;
  options.runtime->compute_dtype = *dtype_from_string(flags.compute_dtype);
  options.runtime->plugins = std::make_shared<const Plugins>(program.plugins);
  return options;
}

Result<TaskHost> task_host(const ParsedFlags& flags) {
  TaskHost host;
  const transport::CredentialSources sources{
      .token = {.file = flags.token_file, .text = cluster::process_getenv("SHOAL_TOKEN")}, .tls_dir = flags.tls_dir};
  SHOAL_TRY(host.credential, transport::find_credential(sources, read_wall_clock()));
  SHOAL_TRY(host.shoal_run, process_shoal_run());
  host.bind = flags.bind;
  host.handle_signals = true;
  host.insecure = flags.insecure;
  if (flags.profile) host.profile_steps = ProfilerOptions().steps;
  SHOAL_TRY(const std::optional<Duration> interval, progress_interval());
  host.progress = progress_display(flags, interval);
  // If SHOAL_PROGRESS_SECS is set, each worker process shows its progress, too. With --cluster there is one process only.
  host.workers_show_progress = interval && !flags.cluster;
  host.sink = host.progress->wrap(stderr_sink(flags.quiet ? LogLevel::kWarning : LogLevel::kInfo));
  return host;
}

}  // namespace shoal
