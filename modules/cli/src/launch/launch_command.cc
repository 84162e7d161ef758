// SPDX-License-Identifier: Apache-2.0
// Implements `shoal launch [--emit KIND] [--ps N] [--workers N] [--evaluator] ... -- PROGRAM ARGS...`.
#include <algorithm>

#include "command.h"
#include "launch/contradictions.h"
#include "launch/emit/emit.h"
#include "launch/hosts/placement.h"
#include "launch/hosts/ssh_command.h"
#include "launch/inbox.h"
#include "launch/launcher.h"
#include "launch/metrics_ports.h"
#include "launch/program_command.h"
#include "new_files.h"
#include "shoal/arguments/command.h"
#include "shoal/base/number_text.h"
#include "shoal/base/process_info.h"
#include "shoal/base/utc_text.h"
#include "shoal/cluster/launched.h"
#include "shoal/cluster/named_size.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/data/text_files.h"
#include "shoal/estimator/run_config.h"

namespace shoal::cli {
namespace {

using launch::LaunchOptions;
using launch::ProgramCommand;
using launch::read_command;

constexpr int kTasksMax = 10'000;
constexpr uint64_t kHostsBytesMax = uint64_t(16) << 20;

constexpr const char* kAbout =
    "Trains as a cluster of processes, on this machine or on several: shoal launch [OPTIONS] -- PROGRAM [ARGUMENTS...] "
    "starts PROGRAM once for each task, starts again what fails, and ends when training is complete";

constexpr const char* kExamples = R"(
Examples:
  shoal launch --ps 1 --workers 2 --evaluator -- build/bin/mnist --model cnn --model-dir m
  shoal launch --size standard -- ./train --model-dir m       a usual size, cut to this machine's cores
  shoal launch --ps 1 --workers 2 --dry-run -- ./train        shows what would be started
  shoal launch --ps 2 --workers 4 --emit kubernetes -- /train --model-dir /m      the same for Kubernetes
  shoal launch --hosts boards --copy --ps 1 --workers 3 -- build/bin/mnist --model-dir /srv/m
)";

constexpr const char* kMore = R"(
PROGRAM is any program on shoal::run(). All tasks get the same arguments, and by the environment variable TF_CONFIG each
its place in the cluster, at free ports of 127.0.0.1. They share this machine's cores, and a secret that keeps others out.
There is always a chief, which trains, too: --workers 2 makes three trainers.

What a task writes is shown with its name before each line, "[worker 1] ...", and kept in a log file. At the end comes
what the last evaluation gave.

--hosts FILE runs it on other machines, which ssh reaches without a password. A line of FILE is [user@]host[:port], and may
have slots=N behind it, the number of tasks that may train there (1), and address=NAME, by which the other hosts reach it (the
host's name). The chief and the workers are dealt to the hosts in turns, each server goes where the fewest are, and the
evaluator to the chief's host. All need one --model-dir: a folder that the hosts share, unless only the chief and the evaluator
read and write there. --copy sends the program, but none of its libraries.

A task that ends with a status other than 0 is started again after a while, which is repeated at most --max-restarts times
for each task; one that ends with 2 (wrong usage or configuration), 3 (the loss is not a number) or 4 (damaged data) is not:
the job ends then, with that status. Ctrl-C, or a SIGTERM, saves a checkpoint and ends the job with status 0; a second one
ends it at once. The same command goes on from the newest checkpoint in the model's folder. Where PROGRAM is given
--on-sigterm leave, or SHOAL_ON_SIGTERM=leave is set, a SIGTERM makes all tasks give way: the job is saved, has not ended, and
the status is 143, as is that of a task which somebody else has sent a SIGTERM; such a task is started again.)";

/// Returns the end of the help text for the program that has `command`: `shoal`, or a user's program (cli/tools.h).
std::string more_help(const arguments::Command& command) {
  const std::string name = command.parent()->name();
  if (name == "shoal") return std::string(kExamples) + kMore;
  return "\nPROGRAM is " + name + " itself here, so that its flags alone stand behind --:\n  " + name +
         " launch --ps 1 --workers 2 --evaluator -- --model-dir m\n" + kMore;
}

struct LaunchArguments {
  cluster::ClusterSize size;
  std::optional<std::string> named_size{};
  std::optional<std::string> hosts_file{}, remote_dir{}, wrapper{};
  std::string ssh = "ssh", remote_tmp = launch::HostsOptions().temporary_folder;
  bool copy = false;
  std::optional<std::string> log_dir{};
  bool no_logs = false, no_table = false, dry_run = false, json = false;
  std::optional<int> max_restarts{};
  std::optional<double> restart_secs{}, stop_secs{};
  double evaluation_secs = to_seconds(launch::PolicyOptions().last_evaluation_limit);
  std::optional<double> chaos_secs{};
  uint64_t chaos_seed = launch::Chaos().seed;
  std::optional<std::string> emit{}, emit_dir{};
  std::string name{}, image{}, rendezvous{};

  /// Returns those options of this command line that some kinds of --emit cannot express, so that such a kind can refuse
  /// them.
  std::vector<std::string> given() const {
    std::vector<std::string> names;
    if (max_restarts) names.emplace_back("--max-restarts");
    if (restart_secs) names.emplace_back("--restart-secs");
    if (stop_secs) names.emplace_back("--stop-secs");
    if (!image.empty()) names.emplace_back("--image");
    if (!rendezvous.empty()) names.emplace_back("--rendezvous");
    return names;
  }
};

/// Returns a folder such as "shoal-logs/20261126-013120-4711". No other launch has it, and names sort by time.
std::string fresh_log_dir() {
  std::string time = utc_text(launch::wall_now()).substr(0, 19);
  std::erase_if(time, [](char c) { return c == '-' || c == ':'; });
  std::replace(time.begin(), time.end(), ' ', '-');
  return "shoal-logs/" + time + "-" + std::to_string(read_process_info().process_id);
}

/// The words of the command that a flag gives, with the shell's quotes. InvalidArgument if there is none.
Result<std::vector<std::string>> command_of(const char* flag, std::string_view text) {
  auto words = launch::words_of(text);
  if (!words) return std::move(words).error().with_context(flag);
  return words;
}

Result<std::optional<launch::HostsOptions>> hosts_from(const Context& context, const LaunchArguments& arguments) {
  if (!arguments.hosts_file) return std::nullopt;
  SHOAL_TRY(const std::string text, data::read_text(context.storage, *arguments.hosts_file, kHostsBytesMax));
  launch::HostsOptions hosts{.copy = arguments.copy, .temporary_folder = arguments.remote_tmp};
  SHOAL_TRY(hosts.hosts, launch::parse_hosts(text, *arguments.hosts_file));
  SHOAL_TRY(hosts.ssh, command_of("--ssh", arguments.ssh));
  SHOAL_TRY(hosts.work_folder,
            arguments.remote_dir ? Result<std::string>(*arguments.remote_dir) : launch::current_folder());
  return hosts;
}

/// The room for trainers: the slots of the hosts or, without hosts, the cores of this machine.
cluster::TrainerRoom room_for(const std::optional<launch::HostsOptions>& hosts) {
  if (!hosts) return cluster::room_on_cores(read_process_info().usable_cores);
  const int slots = launch::slots_of(hosts->hosts);
  return {.trainers_max = slots,
          .place = "the " + std::to_string(slots) + (slots == 1 ? " slot" : " slots") + " of these hosts"};
}

Result<cluster::ClusterSize> size_from(const Context& context, const LaunchArguments& arguments,
                                       const std::optional<launch::HostsOptions>& hosts) {
  if (!arguments.named_size) return arguments.size;
  const std::optional<cluster::ClusterSize> whole = cluster::named_size(*arguments.named_size);
  if (!whole) {
    return invalid_argument("--size: \"" + *arguments.named_size +
                            "\" is none of basic, standard, premium; for other sizes give --ps, --workers and --evaluator");
  }
  if (arguments.emit) return *whole;  // The job will run elsewhere, so nothing limits its size here.
  SHOAL_TRY(const cluster::FittedSize fitted, cluster::fit_named_size(*arguments.named_size, room_for(hosts)));
  if (fitted.warning) context.complain(*fitted.warning + " (--ps and --workers say another number exactly)");
  return fitted.size;
}

/// True if tasks save and end on a SIGTERM, to be started again later. --on-sigterm of the command decides; if this flag is
/// not given, SHOAL_ON_SIGTERM does.
Result<bool> gives_way(const std::vector<std::string>& command) {
  constexpr std::string_view kVariable = "SHOAL_ON_SIGTERM";
  const ProgramCommand read = read_command(command);
  if (const auto said = read.value("--on-sigterm")) return *said == to_string(OnSigterm::kLeave);
  std::optional<std::string> variable = read.variable(kVariable);
  if (!variable) variable = cluster::process_getenv(kVariable);
  const std::string value = variable.value_or("");
  if (value.empty()) return false;
  SHOAL_TRY(const OnSigterm meaning, parse_on_sigterm(value, kVariable));
  return meaning == OnSigterm::kLeave;
}

launch::PolicyOptions policy_from(const LaunchArguments& arguments) {
  launch::PolicyOptions policy;
  policy.max_restarts = arguments.max_restarts.value_or(policy.max_restarts);
  if (arguments.restart_secs) policy.first_wait = seconds_to_duration(*arguments.restart_secs);
  if (arguments.stop_secs) policy.stop_limit = seconds_to_duration(*arguments.stop_secs);
  policy.last_evaluation_limit = seconds_to_duration(arguments.evaluation_secs);
  if (arguments.chaos_secs) {
    policy.chaos = launch::Chaos{.every = seconds_to_duration(*arguments.chaos_secs), .seed = arguments.chaos_seed};
  }
  return policy;
}

Result<LaunchOptions> options_from(const Context& context, const LaunchArguments& arguments) {
  LaunchOptions options{
      .size = {}, .command = {.program = context.program}, .json = arguments.json, .table = !arguments.no_table};
  if (arguments.wrapper) {
    SHOAL_TRY(options.command.wrapper, command_of("--wrapper", *arguments.wrapper));
  }
  SHOAL_TRY(options.hosts, hosts_from(context, arguments));
  SHOAL_TRY(options.size, size_from(context, arguments, options.hosts));
  if (auto possible = options.size.check(); !possible) return std::move(possible).error();
  const bool one_machine = !options.hosts || options.hosts->hosts.size() == 1;
  SHOAL_TRY_VOID(launch::check_contradictions(
      read_command(context.program), context.program,
      {.size = options.size, .by = one_machine ? "shoal launch" : "shoal launch --hosts", .one_machine = one_machine}));
  SHOAL_TRY_VOID(launch::metrics_line(context.program, launch::tasks_of(options.size), cluster::process_getenv));
  if (!arguments.no_logs) options.log_dir = arguments.log_dir ? *arguments.log_dir : fresh_log_dir();
  options.policy = policy_from(arguments);
  SHOAL_TRY(options.policy.terminate_means_leave, gives_way(context.program));
  return options;
}

/// Writes the files of --emit into the folder --emit-dir, or to standard output if that flag is not given. Only Kubernetes
/// gets several files. On standard output "---" divides them, so that Kubernetes reads them as one YAML stream.
Result<int> emit_job(Context& context, const LaunchArguments& arguments) {
  launch::EmitJob job{.size = {},
                      .command = context.program,
                      .name = arguments.name,
                      .image = arguments.image,
                      .rendezvous = arguments.rendezvous,
                      .model_dir = {},
                      .policy = policy_from(arguments),
                      .options = arguments.given()};
  SHOAL_TRY(job.size, size_from(context, arguments, std::nullopt));
  SHOAL_TRY(const std::vector<launch::EmittedFile> emitted, launch::emit(*arguments.emit, std::move(job)));
  if (!arguments.emit_dir) {
    for (const auto& file : emitted) context.out << (&file == &emitted.front() ? "" : "---\n") << file.text;
    return 0;
  }
  std::vector<NewFile> files;
  for (const auto& file : emitted) files.push_back({.path = file.name, .text = file.text});
  SHOAL_TRY_VOID(write_new_files(*arguments.emit_dir, files));
  for (const NewFile& file : files) context.out << *arguments.emit_dir << "/" << file.path << "\n";
  return 0;
}

Result<int> launch_job(Context& context, const LaunchArguments& arguments) {
  if (context.program.empty()) {
    return invalid_argument(
        "what to launch is missing: it stands behind --, as in shoal launch --ps 1 --workers 2 -- ./train "
        "--model-dir m");
  }
  if (arguments.emit) return emit_job(context, arguments);
  if (cluster::was_launched(cluster::process_getenv)) {
    return invalid_argument(
        "this process is a task that shoal launch has started, with a place in that job by TF_CONFIG, and each task would "
        "launch a job of its own: launch the program itself, or unset TF_CONFIG for a job that has nothing to do with it");
  }
  SHOAL_TRY(const LaunchOptions options, options_from(context, arguments));
  if (arguments.dry_run) return print_plan(context, options);
  context.output_is_the_product = false;
  return run_job(context, options);
}

arguments::Take seconds_of_at_least(double least) {
  return [least](const std::string& text) -> Result<void> {
    const std::optional<double> seconds = number_from<double>(text);
    if (seconds && *seconds >= least && *seconds <= 1e9) return {};
    return invalid_argument(text + " is no number of seconds that can be");
  };
}

void add_size_options(arguments::Command& app, LaunchArguments& arguments) {
  app.add("--size", arguments.named_size,
          "A usual size: basic (a chief), standard (4 workers, 3 ps, evaluator), premium (19 "
          "workers, 11 ps, evaluator); no more trainers than this machine has cores, or --hosts slots")
      .group("Cluster");
  const auto count = [&](const char* name, int32_t& number, const char* help) {
    app.add(name, number, help)
        .check(arguments::in_range(0, kTasksMax))
        .shows_default()
        .excludes("--size")
        .group("Cluster");
  };
  count("--ps", arguments.size.ps, "Parameter servers, which hold the model; at least one if there are workers");
  count("--workers", arguments.size.workers, "Workers, which train beside the chief, who is not counted here");
  app.add_switch("--evaluator", arguments.size.evaluator,
                 "A task that evaluates and exports checkpoints while the others train")
      .excludes("--size")
      .group("Cluster");
  app.add_switch("--master", arguments.size.master,
                 "Instead of chief and evaluator: one task that trains, and evaluates between")
      .excludes("--size")
      .group("Cluster");
}

void add_process_options(arguments::Command& app, LaunchArguments& arguments) {
  app.add("--wrapper", arguments.wrapper,
          "A command, with options, that runs each task's command behind it, as in --wrapper 'taskset -c 0'; with --hosts "
          "it is one of each host")
      .type("COMMAND")
      .group("Processes");
}

void add_host_options(arguments::Command& app, LaunchArguments& arguments) {
  app.add("--hosts", arguments.hosts_file, "Run on the machines that this file lists, by ssh").path("FILE").group("Hosts");
  const auto option = [&](const char* name, auto& value, const char* help) -> arguments::Argument& {
    return app.add(name, value, help).needs("--hosts").group("Hosts");
  };
  app.add_switch("--copy", arguments.copy, "Send the program to each host, to a folder that is removed at the end")
      .needs("--hosts")
      .group("Hosts");
  option("--remote-dir", arguments.remote_dir, "Folder in which tasks run on each host")
      .path("FOLDER")
      .shows("this folder's path");
  option("--remote-tmp", arguments.remote_tmp, "Folder on each host in which one for the job is made")
      .path("FOLDER")
      .shows_default();
  option("--ssh", arguments.ssh, "How ssh is called, with options, as in --ssh 'ssh -F my_config'").shows_default();
}

void add_failure_options(arguments::Command& app, LaunchArguments& arguments) {
  app.add("--max-restarts", arguments.max_restarts, "How often each task is started again after a failure")
      .check(arguments::in_range(0, 1'000'000))
      .shows(arguments::text_of(launch::PolicyOptions().max_restarts))
      .group("Failures");
  const auto seconds = [&](const char* name, auto& number, Duration otherwise, const char* help) {
    app.add(name, number, help)
        .check(seconds_of_at_least(0))
        .shows(arguments::text_of(to_seconds(otherwise)))
        .group("Failures");
  };
  seconds("--restart-secs", arguments.restart_secs, launch::PolicyOptions().first_wait,
          "Seconds before a task's first restart; twice as many before each further one, up to 30");
  seconds("--stop-secs", arguments.stop_secs, launch::PolicyOptions().stop_limit,
          "Seconds that tasks have to leave, once they are asked to, before they are killed; with --emit at least 30");
  seconds("--evaluation-secs", arguments.evaluation_secs, launch::PolicyOptions().last_evaluation_limit,
          "Seconds that the last evaluation may take once training is complete");
  app.add("--chaos", arguments.chaos_secs,
          "Try whether the job survives: kill a random task every so many seconds, on average; such kills count as no "
          "failures")
      .check(seconds_of_at_least(0.01))
      .group("Failures");
  app.add("--chaos-seed", arguments.chaos_seed, "Another seed draws other tasks and times")
      .needs("--chaos")
      .shows_default()
      .group("Failures");
}

void add_output_options(arguments::Command& app, LaunchArguments& arguments) {
  app.add("--log-dir", arguments.log_dir, "Folder of a log file per task, worker-1.log; what is there is appended to")
      .path("FOLDER")
      .shows("shoal-logs/TIME-PROCESS")
      .group("Output");
  app.add_switch("--no-logs", arguments.no_logs, "No log files").excludes("--log-dir").group("Output");
  app.add_switch("--no-table", arguments.no_table,
                 "On a terminal, too: all lines that tasks write, and no table of the tasks")
      .group("Output");
  app.add_switch("--json", arguments.json,
                 "Nothing on standard output but the results, as one line of JSON; what tasks write goes to standard error")
      .group("Output");
  app.add_switch("--dry-run", arguments.dry_run, "Show the commands and their environment, and start nothing")
      .group("Output");
}

void add_emit_options(arguments::Command& app, LaunchArguments& arguments) {
  arguments::Argument& emit =
      app.add("--emit", arguments.emit,
              "Start nothing: write what starts this job elsewhere, for kubernetes, slurm, systemd or "
              "compose. It names the job's token, and holds none")
          .type("KIND")
          .group("Elsewhere");
  for (const char* other : {"--dry-run", "--json", "--log-dir", "--no-logs", "--no-table", "--chaos", "--evaluation-secs",
                            "--hosts", "--wrapper"}) {
    emit.excludes(other);
  }
  const auto add = [&](const char* name, auto& value, const char* type, const char* help) -> arguments::Argument& {
    return app.add(name, value, help).needs("--emit").type(type).group("Elsewhere");
  };
  add("--emit-dir", arguments.emit_dir, "FOLDER",
      "Folder for the files; none that is there is changed. Without it: standard output")
      .path("FOLDER");
  add("--name", arguments.name, "NAME", "What the job is called there; without it by its program");
  add("--image", arguments.image, "IMAGE",
      "Of kubernetes and compose: the image that holds program and shoal; without it the name");
  add("--rendezvous", arguments.rendezvous, "HOST:PORT", "Of systemd: where rank 0 runs, and a port that is free there");
}

}  // namespace

void add_launch_command(arguments::Command& app, Action& selected) {
  arguments::Command& command = app.add_command("launch", kAbout);
  command.set_footer([&command] { return more_help(command); });
  const auto arguments = std::make_shared<LaunchArguments>();
  add_size_options(command, *arguments);
  add_process_options(command, *arguments);
  add_host_options(command, *arguments);
  add_failure_options(command, *arguments);
  add_output_options(command, *arguments);
  add_emit_options(command, *arguments);
  command.on_selected(
      [&selected, arguments] { selected = [arguments](Context& context) { return launch_job(context, *arguments); }; });
}

}  // namespace shoal::cli
