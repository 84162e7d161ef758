// SPDX-License-Identifier: Apache-2.0
#include "flags.h"

#include <algorithm>
#include <cstdio>

#include "flag_lists.h"
#include "shoal/arguments/command.h"
#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/estimator/program_commands.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "task/plugins.h"

namespace shoal {
namespace {

constexpr auto kParam = "--param";

Result<void> as_void(const auto& result) {
  if (!result) return result.error();
  return {};
}

std::string type_of(const ProgramFlag& flag) {
  if (is_list(*flag.otherwise)) return list_type(flag);
  if (std::holds_alternative<int64_t>(*flag.otherwise)) return "INT";
  if (std::holds_alternative<double>(*flag.otherwise)) return "NUMBER";
  std::string choices;
  for (const std::string& choice : flag.choices) choices += (choices.empty() ? "" : ",") + choice;
  return choices.empty() ? "TEXT" : "{" + choices + "}";
}

std::string shown_default(const ProgramFlag& flag) {
  if (is_list(*flag.otherwise)) return list_text(*flag.otherwise);
  if (const auto* const number = std::get_if<int64_t>(&*flag.otherwise)) return std::to_string(*number);
  if (const auto* const number = std::get_if<double>(&*flag.otherwise)) return arguments::text_of(*number);
  return std::get<std::string>(*flag.otherwise);
}

/// Whether `text` is a value of the program's own flag.
Result<void> check_text(const std::string& text, const ProgramFlag& flag) {
  if (is_list(*flag.otherwise)) return as_void(read_list(text, flag));
  if (std::holds_alternative<int64_t>(*flag.otherwise)) SHOAL_TRY_VOID(as_void(arguments::read_as<int64_t>(text)));
  if (std::holds_alternative<double>(*flag.otherwise)) SHOAL_TRY_VOID(as_void(arguments::read_as<double>(text)));
  return flag.choices.empty() ? Result<void>() : arguments::one_of(flag.choices)(text);
}

class Flags {
 public:
  Flags(std::string name, const ProgramInfo& program, FlagReader reader);
  arguments::Command& command() { return command_; }
  /// Reads the command line into parsed(). InvalidArgument: wrong usage.
  Result<arguments::Reading> read(int argc, const char* const* argv);
  ParsedFlags& parsed() { return parsed_; }

 private:
  void add_for_body();
  void refuse_for_body();
  void add_training_and_files();
  void add_purposes();
  void add_updates();
  void add_computing();
  void add_network();
  void add_place();
  void add_security();
  void add_output();
  void add_own();
  Result<std::vector<std::string>> without_params(std::vector<std::string> words) const;

  const ProgramInfo& program_;
  arguments::Command command_;
  ParsedFlags parsed_;
};

Flags::Flags(std::string name, const ProgramInfo& program, FlagReader reader)
    : program_(program), command_(std::move(name), program.description) {
  parsed_.command_line.steps = program.steps;
  parsed_.command_line.batch = program.batch;
  parsed_.command_line.throttle_secs = program.throttle_secs;
  if (reader == FlagReader::kBody) {
    add_for_body();
  } else {
    refuse_for_body();
  }
  add_training_and_files();
  add_purposes();
  add_updates();
  add_computing();
  add_network();
  add_place();
  add_security();
  add_output();
  add_own();
  if (const ProgramCommands* const commands = program_commands()) {
    command_.set_footer([commands] {
      return "Commands, in the place of flags: " + comma_separated(commands->names) +
             ". With --help behind it each says more.";
    });
  }
}

/// Adds flags that have an effect only if the program's own code (ProgramBody) uses their values.
void Flags::add_for_body() {
  CommandLine& line = parsed_.command_line;
  command_.add("--steps", line.steps, "Train until the global step reaches this number")
      .check(arguments::check_positive)
      .shows(program_.steps ? std::to_string(*program_.steps) : "")
      .group("Training");
  command_.add("--batch", line.batch, "Examples per trainer and step")
      .check(arguments::check_positive)
      .shows_default()
      .group("Training");
  command_.add("--data-dir", line.data_dir, "Folder of the data").path("FOLDER").variable("SHOAL_DATA").group("Files");
  command_
      .add("--throttle-secs", line.throttle_secs,
           "Least seconds between the starts of two evaluations; the last step is evaluated in any case")
      .check(arguments::at_least(0))
      .shows_default()
      .group("Files");
}

void Flags::refuse_for_body() {
  for (const char* name : {"--steps", "--batch", "--data-dir", "--throttle-secs"}) {
    const auto refuse = [](const std::string&) {
      return Result<void>(invalid_argument("has no effect: this program's code decides it"));
    };
    command_.add_call(name, refuse, "").hidden();
  }
}

void Flags::add_training_and_files() {
  command_
      .add("--seed", parsed_.config.random_seed, "Seed of initial weights, dropout and shuffles; same seed, same result")
      .group("Training");
  command_
      .add_switch("--allow-non-finite", parsed_.config.allow_non_finite,
                  "Train on, and save checkpoints, where weights or a loss become infinite, or weights NaN; without it, "
                  "training ends with status 3. A loss that is NaN ends it always")
      .group("Training");
  command_
      .add("--model-dir", parsed_.config.model_dir,
           "Folder for checkpoints, events and exports; training resumes from what is there")
      .path("FOLDER")
      .group("Files");
  command_
      .add("--spare-dir", parsed_.config.spare_dir,
           "A second folder, best on another disk: a checkpoint that cannot be written to --model-dir is written there")
      .path("FOLDER")
      .group("Files");
  command_
      .add("--save-checkpoints-steps", parsed_.save_steps,
           "Global steps between two checkpoints; evaluations during training use checkpoints")
      .shows(program_.save_checkpoints_steps ? std::to_string(*program_.save_checkpoints_steps) : "")
      .group("Files");
  command_.add("--save-checkpoints-secs", parsed_.save_secs, "Seconds between two checkpoints")
      .shows(program_.save_checkpoints_steps ? "" : arguments::text_of(kFlagsSaveSecs))
      .group("Files");
  command_
      .add_switch(
          "--accept-changed-model", parsed_.config.accept_changed_model,
          "Use the weights of a checkpoint although its words, classes, buckets or boundaries differ from the model's")
      .group("Files");
}

/// Adds flags that make the program do something else than train as one process.
void Flags::add_purposes() {
  command_
      .add_call(
          kParam, [](const std::string&) { return Result<void>(); },
          "The same as --NAME VALUE, for any flag: the form in which a search over hyper-parameters gives flags")
      .type("NAME=VALUE")
      .group("Running");
  command_
      .add("--predict", parsed_.predict,
           "Instead of training: write what the newest checkpoint predicts for the rows of this file, as CSV, or with "
           "--json as one JSON object per row")
      .path("FILE")
      .excludes("--cluster")
      .group("Running");
  command_
      .add("--measure-input", parsed_.measure_input,
           "Instead of training: read the training input for so many seconds, and report how fast it is and which stage is "
           "the slowest; with --json as one JSON object")
      .type("SECONDS")
      .check(arguments::check_positive)
      .excludes("--predict")
      .excludes("--cluster")
      .group("Running");
  command_
      .add("--cluster", parsed_.cluster,
           "Run a cluster as threads of this process: ps:2,worker:3,evaluator (a chief is always there), "
           "master,ps:2,worker:3, or basic, standard, premium, with no more trainers than this machine has cores")
      .type("TASKS")
      .group("Running");
}

void Flags::add_updates() {
  command_
      .add_call("--strategy", arguments::stores(parsed_.config.update_strategy.kind, parse_update_strategy),
                "How trainers' gradients become updates: async (each as it comes), sync (one update for all of a step)")
      .type("{async,sync}")
      .shows("async")
      .group("Running");
  command_
      .add("--replicas-to-aggregate", parsed_.config.update_strategy.replicas_to_aggregate,
           "With sync: gradients per update; with fewer than there are trainers, the first ones count and the rest are "
           "dropped")
      .group("Running");
  command_
      .add("--replicas", parsed_.runtime.replicas,
           "Without a cluster: trainers in this process; the weights become those of a synchronous cluster of as "
           "many trainers")
      .check(arguments::check_positive)
      .shows_default()
      .group("Running");
  command_
      .add("--lost-grace-secs", parsed_.runtime.lost_grace_secs,
           "With sync: seconds for which a lost trainer stalls the others; then they make its share of each step")
      .shows_default()
      .group("Running");
}

/// Adds flags for what this process computes with.
void Flags::add_computing() {
  command_
      .add("--backend", parsed_.runtime.backend,
           "The backend that computes: " + comma_separated(backend_names(program_.plugins)))
      .check(arguments::one_of(backend_names(program_.plugins)))
      .type("NAME")
      .group("Running");
  command_
      .add("--compute-dtype", parsed_.compute_dtype,
           "The type that matrix products multiply: float32, or bfloat16 (weights and sums stay float32)")
      .check(arguments::one_of({"float32", "bfloat16"}))
      .type("{float32,bfloat16}")
      .shows_default()
      .group("Running");
  command_.add("--threads", parsed_.runtime.threads, "Compute threads of each trainer")
      .check(arguments::check_positive)
      .group("Running");
  command_
      .add_call("--memory-limit", arguments::stores(parsed_.runtime.memory_limit, arguments::read_bytes),
                "The most memory of this process, in bytes or as 200MiB; a model that needs more is refused, with advice")
      .type("BYTES")
      .group("Running");
}

/// Adds flags for how tasks talk to each other, and how long they wait.
void Flags::add_network() {
  command_
      .add("--transport", parsed_.runtime.transport,
           "The transport between tasks: " + comma_separated(transport_names(program_.plugins)) +
               " (auto: tasks of one machine share memory, others talk over tcp)")
      .check(arguments::one_of(transport_names(program_.plugins)))
      .type("NAME")
      .group("Running");
  command_
      .add_call("--compression", arguments::stores(parsed_.runtime.compression, cluster::parse_compression),
                "Fewer bytes between tasks, for slow networks: bfloat16, float16, int8, or top-k (gradients only)")
      .type("NAME")
      .group("Running");
  command_
      .add("--ready-timeout-secs", parsed_.ready_timeout_secs,
           "Longest wait for the other tasks of a cluster, at the start and when one is lost")
      .shows(arguments::text_of(RunConfigOptions().ready_timeout_secs) + ", with --cluster " +
             arguments::text_of(kThreadsReadyTimeoutSecs))
      .group("Running");
  command_
      .add("--heartbeat-secs", parsed_.runtime.heartbeat_secs,
           "Seconds between two heartbeats of this task; a peer that is silent for three times as long counts as "
           "lost")
      .shows_default()
      .group("Running");
  const auto take_meaning = [this](const std::string& name) -> Result<void> {
    const auto meaning = parse_on_sigterm(name, "");
    if (!meaning) return invalid_argument(name + " is neither end nor leave");
    parsed_.on_sigterm = *meaning;
    return {};
  };
  command_
      .add_call(
          "--on-sigterm", take_meaning,
          "What SIGTERM and SIGHUP mean: end (the job ends, saved), or leave (this task gives way, saved: it ends with "
          "status 143, and is to be started again); or set SHOAL_ON_SIGTERM")
      .type("{end,leave}")
      .shows("end")
      .group("Running");
}

/// Adds flags for the environment variables by which a launcher gives this task its rank in a job (cluster/place.h).
void Flags::add_place() {
  const auto add = [this](const char* flag, const char* name, const char* help) -> arguments::Argument& {
    const auto take = [this, name](const std::string& text) -> Result<void> {
      parsed_.variables[name] = text;
      return {};
    };
    return command_.add_call(flag, take, help).excludes("--cluster").group("Running");
  };
  const auto whole = [](const std::string& text) -> Result<void> { return as_void(arguments::read_as<int32_t>(text)); };
  add("--rank", "SHOAL_RANK", "This task's number among those of its job, from 0; or set SHOAL_RANK")
      .type("INT")
      .check(whole);
  add("--world-size", "SHOAL_WORLD_SIZE", "How many tasks the job has; or set SHOAL_WORLD_SIZE").type("INT").check(whole);
  add("--rendezvous", "SHOAL_RENDEZVOUS", "Where rank 0 answers and the tasks meet; or set SHOAL_RENDEZVOUS")
      .type("HOST:PORT");
  add("--ps", "SHOAL_PS",
      "Of tasks that Slurm, MPI, torchrun, ... have started, how many serve; default one of four; or set SHOAL_PS")
      .type("INT")
      .check(whole);
  const auto take_evaluator = [this](const std::string& text) -> Result<void> {
    parsed_.variables["SHOAL_EVALUATOR"] = text == "true" ? "1" : "";  // Empty: as if the environment did not set it.
    return {};
  };
  command_.add_switch_call("--evaluator", take_evaluator, "Of such tasks, the last one evaluates; or set SHOAL_EVALUATOR=1")
      .excludes("--cluster")
      .group("Running");
  add("--source", "SHOAL_SOURCE",
      "The only source that says which task this is: local, TF_CONFIG, slurm, open-mpi, ... (shoal config names it); or "
      "set SHOAL_SOURCE")
      .type("NAME");
}

/// Adds flags that say who may join the job, and where a task listens.
void Flags::add_security() {
  command_
      .add("--token-file", parsed_.token_file,
           "File that holds the job's token (shoal keys token), which encrypts tcp; or set SHOAL_TOKEN")
      .path("FILE")
      .variable("SHOAL_TOKEN_FILE")
      .group("Running");
  command_
      .add("--tls-dir", parsed_.tls_dir,
           "Instead of a token: folder of this task's own certificate (shoal keys task), which limits it to its role")
      .path("FOLDER")
      .variable("SHOAL_TLS_DIR")
      .group("Running");
  command_.add("--bind", parsed_.bind, "Listen on this host or host:port, instead of the cluster's address for this task")
      .type("HOST[:PORT]")
      .excludes("--cluster")
      .group("Running");
  command_
      .add_switch("--insecure", parsed_.insecure,
                  "Without a token or certificate: allow plain tcp to other machines, where everybody who reaches the "
                  "ports can join")
      .variable("SHOAL_INSECURE")
      .group("Running");
}

void Flags::add_output() {
  CommandLine& line = parsed_.command_line;
  command_
      .add("--metrics", parsed_.config.metrics,
           "Let monitoring systems ask this task: /metrics (Prometheus) and /healthz. A port, of this machine alone, or "
           "ADDRESS:PORT, which needs a token or certificate beyond this machine; with shoal launch each task adds its "
           "number")
      .type("PORT|ADDRESS:PORT")
      .variable("SHOAL_METRICS")
      .check([](const std::string& text) { return as_void(monitor::parse_metrics_address(text)); })
      .group("Output");
  command_.add_switch("--json", line.json, "End with one line of JSON on standard output: the results").group("Output");
  command_
      .add_switch("--profile", parsed_.profile,
                  "Measure 50 training steps kernel by kernel: a table in the log, and profile.json in the model's folder")
      .group("Output");
  command_.add_switch("--quiet", parsed_.quiet, "Warnings and errors only").group("Output");
}

void Flags::add_own() {
  for (const ProgramFlag& flag : program_.flags) {
    if (const bool* const otherwise = std::get_if<bool>(&*flag.otherwise)) {
      bool& on = parsed_.switches[flag.name];
      on = *otherwise;
      command_.add_switch("--" + flag.name + (on ? ",--no-" + flag.name : ""), on, flag.help).group("Model");
      continue;
    }
    const auto take = [this, &flag](const std::string& text) -> Result<void> {
      parsed_.texts[flag.name] = text;
      return {};
    };
    command_.add_call("--" + flag.name, take, flag.help)
        .check([&flag](const std::string& text) { return check_text(text, flag); })
        .type(type_of(flag))
        .shows(shown_default(flag))
        .group("Model");
  }
}

/// Returns the words with each "--param name=value" as "--name=value"; such a name may have "_" for "-".
Result<std::vector<std::string>> Flags::without_params(std::vector<std::string> words) const {
  const std::string param = kParam;
  for (size_t i = 0; i < words.size(); ++i) {
    std::string text;
    if (words[i] == param && i + 1 < words.size()) {
      text = words[i + 1];
      words.erase(words.begin() + ptrdiff_t(i) + 1);
    } else if (words[i].starts_with(param + "=")) {
      text = words[i].substr(param.size() + 1);
    } else {
      continue;
    }
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0) return invalid_argument(param + ": \"" + text + "\" is no NAME=VALUE");
    std::string name = text.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if ("--" + name == param)
      return invalid_argument(param + ": \"" + text + "\" names " + param +
                              " itself; name the flag that is to have the value");
    if (!command_.has_flag("--" + name)) return invalid_argument(param + ": there is no flag --" + name);
    words[i] = "--" + name + text.substr(equals);
  }
  return words;
}

Result<arguments::Reading> Flags::read(int argc, const char* const* argv) {
  SHOAL_TRY(const std::vector<std::string> words, without_params({argv + std::min(argc, 1), argv + argc}));
  arguments::Reading reading = command_.read(words, cluster::process_getenv);
  if (reading.help) return reading;
  if (reading.error) return *std::move(reading.error);
  if (!reading.unexpected.empty()) {
    const std::string word = reading.unexpected[0].substr(0, reading.unexpected[0].find('='));
    return invalid_argument(arguments::not_expected(reading.unexpected) + did_you_mean(word, command_.flag_names()));
  }
  return reading;
}

/// InvalidArgument for flags of the program's own that cannot be.
Result<void> check_flags(const ProgramInfo& program, const arguments::Command& command) {
  for (const ProgramFlag& flag : program.flags) {
    if (flag.name.find(',') != std::string::npos)
      return invalid_argument("a flag cannot have the name \"" + flag.name + "\", which has a comma");
  }
  return command.check_names();
}

/// Prints the help, and returns the exit status.
int print_help(const arguments::Command& command) {
  if (std::fputs(command.help().c_str(), stdout) >= 0 && std::fflush(stdout) == 0) return 0;
  std::fputs("error: the help could not be written to standard output; is its disk full, or its reader gone?\n", stderr);
  return exit_status(ErrorKind::kUnavailable);
}

}  // namespace

Result<FlagsOutcome> parse_flags(const ProgramInfo& program, FlagReader reader, int argc, const char* const* argv) {
  SHOAL_TRY_VOID(check_plugins(program.plugins));
  Flags flags(argc > 0 ? argv[0] : "program", program, reader);
  if (Result<void> checked = check_flags(program, flags.command()); !checked)
    return std::move(checked).error().with_context("the program's flags");
  const Result<arguments::Reading> reading = flags.read(argc, argv);
  if (reading && !reading->help) return FlagsOutcome{.exit_status = std::nullopt, .flags = std::move(flags.parsed())};
  FlagsOutcome outcome;
  if (reading) {
    outcome.exit_status = print_help(flags.command());
  } else {
    std::fprintf(stderr, "error: %s; --help lists the flags\n", reading.error().message().c_str());
    outcome.exit_status = exit_status(reading.error().kind());
  }
  return outcome;
}

}  // namespace shoal
