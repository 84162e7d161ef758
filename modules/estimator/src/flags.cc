// SPDX-License-Identifier: Apache-2.0
#include "flags.h"

#include <algorithm>
#include <cstdio>

#include "flag_lists.h"
#include "shoal/base/format.h"
#include "shoal/estimator/program_commands.h"
#include "shoal/arguments/command_flags.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "task/plugins.h"

namespace shoal {
namespace {

constexpr auto kParam = "param";

using arguments::Flag;
using arguments::stores;
using arguments::stores_text;

constexpr auto kTraining = "Training", kFiles = "Files", kRunning = "Running", kOutput = "Output", kModel = "Model";

std::string shown(double number) { return formatted("%g", number); }

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
  if (const auto* const number = std::get_if<double>(&*flag.otherwise)) return shown(*number);
  return std::get<std::string>(*flag.otherwise);
}

/// Whether `text` is a value of the program's own flag.
Result<void> check_text(const std::string& text, const ProgramFlag& flag) {
  if (is_list(*flag.otherwise)) return as_void(read_list(text, flag));
  if (std::holds_alternative<int64_t>(*flag.otherwise)) SHOAL_TRY_VOID(as_void(arguments::read_number<int64_t>(text)));
  if (std::holds_alternative<double>(*flag.otherwise)) SHOAL_TRY_VOID(as_void(arguments::read_number<double>(text)));
  return flag.choices.empty() ? Result<void>() : as_void(arguments::read_one_of(flag.choices, text));
}

class Flags {
 public:
  Flags(const ProgramInfo& program, FlagReader reader);
  Result<void> check() const { return flags_.check(); }
  /// Reads the command line into parsed(). False: it asks for help. InvalidArgument: wrong usage.
  Result<bool> read(int argc, const char* const* argv);
  std::string help(std::string_view name) const { return flags_.help(name); }
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
  arguments::CommandFlags flags_;
  ParsedFlags parsed_;
};

Flags::Flags(const ProgramInfo& program, FlagReader reader) : program_(program), flags_(program.description) {
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
    flags_.set_footer("Commands, in the place of flags: " + arguments::comma_separated(commands->names) +
                      ". With --help behind it each says more.");
  }
}

/// Adds flags that have an effect only if the program's own code (ProgramBody) uses their values.
void Flags::add_for_body() {
  CommandLine& line = parsed_.command_line;
  flags_.add(kTraining, {.name = "steps",
                         .type = "INT",
                         .help = "Train until the global step reaches this number",
                         .otherwise = program_.steps ? std::to_string(*program_.steps) : "",
                         .take = stores(line.steps, arguments::read_positive<int64_t>)});
  flags_.add(kTraining, {.name = "batch",
                         .type = "INT",
                         .help = "Examples per trainer and step",
                         .otherwise = std::to_string(line.batch),
                         .take = stores(line.batch, arguments::read_positive<int64_t>)});
  flags_.add(kFiles, {.name = "data-dir",
                      .type = "FOLDER",
                      .help = "Folder of the data",
                      .variable = "SHOAL_DATA",
                      .take = stores_text(line.data_dir)});
  flags_.add(kFiles,
             {.name = "throttle-secs",
              .type = "INT",
              .help = "Least seconds between the starts of two evaluations; the last step is evaluated in any case",
              .otherwise = std::to_string(line.throttle_secs),
              .take = stores(line.throttle_secs, [](const auto& text) { return arguments::read_number_from<int64_t>(0, text); })});
}

void Flags::refuse_for_body() {
  for (const char* name : {"steps", "batch", "data-dir", "throttle-secs"}) {
    const auto refuse = [](const std::string&) {
      return Result<void>(invalid_argument("has no effect: this program's code decides it"));
    };
    flags_.add(kTraining, {.name = name, .type = "TEXT", .hidden = true, .take = refuse});
  }
}

void Flags::add_training_and_files() {
  flags_.add(kTraining, {.name = "seed",
                         .type = "INT",
                         .help = "Seed of initial weights, dropout and shuffles; same seed, same result",
                         .take = stores(parsed_.config.random_seed, arguments::read_number<int64_t>)});
  flags_.add(kTraining, {.name = "allow-non-finite",
                         .help = "Let values become infinite or NaN, and checkpoints hold them; by default training ends with "
                                 "status 3 first",
                         .take = stores(parsed_.config.allow_non_finite, arguments::read_switch)});
  flags_.add(kFiles, {.name = "model-dir",
                      .type = "FOLDER",
                      .help = "Folder for checkpoints, events and exports; training resumes from what is there",
                      .take = stores_text(parsed_.config.model_dir)});
  flags_.add(kFiles, {.name = "spare-dir",
                      .type = "FOLDER",
                      .help = "A second folder, best on another disk: a checkpoint that cannot be written to --model-dir is "
                              "written there",
                      .take = stores_text(parsed_.config.spare_dir)});
  flags_.add(kFiles, {.name = "save-checkpoints-steps",
                      .type = "INT",
                      .help = "Global steps between two checkpoints; evaluations during training use checkpoints",
                      .otherwise = program_.save_checkpoints_steps ? std::to_string(*program_.save_checkpoints_steps) : "",
                      .take = stores(parsed_.save_steps, arguments::read_number<int64_t>)});
  flags_.add(kFiles, {.name = "save-checkpoints-secs",
                      .type = "NUMBER",
                      .help = "Seconds between two checkpoints",
                      .otherwise = program_.save_checkpoints_steps ? "" : shown(kFlagsSaveSecs),
                      .take = stores(parsed_.save_secs, arguments::read_number<double>)});
  flags_.add(kFiles, {.name = "accept-changed-model",
                      .help = "Use the weights of a checkpoint although its words, classes, buckets or boundaries differ from "
                              "the model's",
                      .take = stores(parsed_.config.accept_changed_model, arguments::read_switch)});
}

/// Adds flags that make the program do something else than train as one process.
void Flags::add_purposes() {
  flags_.add(kRunning, {.name = kParam,
                        .type = "NAME=VALUE",
                        .help = "The same as --NAME VALUE, for any flag: the form in which a search over hyper-parameters gives "
                                "flags",
                        .take = [](const std::string&) { return Result<void>(); }});
  flags_.add(kRunning, {.name = "predict",
                        .type = "FILE",
                        .help = "Instead of training: write what the newest checkpoint predicts for the rows of this file, as "
                                "CSV, or with --json as one JSON object per row",
                        .excludes = {"cluster"},
                        .take = stores_text(parsed_.predict)});
  flags_.add(kRunning, {.name = "measure-input",
                        .type = "SECONDS",
                        .help = "Instead of training: read the training input for so many seconds, and report how fast it is "
                                "and which stage is the slowest; with --json as one JSON object",
                        .excludes = {"predict", "cluster"},
                        .take = stores(parsed_.measure_input, arguments::read_positive<double>)});
  flags_.add(kRunning, {.name = "cluster",
                        .type = "TASKS",
                        .help = "Run a cluster as threads of this process: ps:2,worker:3,evaluator (a chief is always there), "
                                "or master,ps:2,worker:3",
                        .take = stores_text(parsed_.cluster)});
}

void Flags::add_updates() {
  flags_.add(kRunning, {.name = "strategy",
                        .type = "{async,sync}",
                        .help = "How trainers' gradients become updates: async (each as it comes), sync (one update for all of "
                                "a step)",
                        .otherwise = "async",
                        .take = stores(parsed_.config.update_strategy.kind, parse_update_strategy)});
  flags_.add(kRunning, {.name = "replicas-to-aggregate",
                        .type = "INT",
                        .help = "With sync: gradients per update; with fewer than there are trainers, the first ones count and "
                                "the rest are dropped",
                        .take = stores(parsed_.config.update_strategy.replicas_to_aggregate, arguments::read_number<int64_t>)});
  flags_.add(kRunning, {.name = "replicas",
                        .type = "INT",
                        .help = "Without a cluster: trainers in this process; the weights become those of a synchronous "
                                "cluster of as many trainers",
                        .otherwise = std::to_string(parsed_.runtime.replicas),
                        .take = stores(parsed_.runtime.replicas, arguments::read_positive<int32_t>)});
  flags_.add(kRunning, {.name = "lost-grace-secs",
                        .type = "NUMBER",
                        .help = "With sync: seconds for which a lost trainer stalls the others; then they make its share of "
                                "each step",
                        .otherwise = shown(parsed_.runtime.lost_grace_secs),
                        .take = stores(parsed_.runtime.lost_grace_secs, arguments::read_number<double>)});
}

/// Adds flags for what this process computes with.
void Flags::add_computing() {
  const auto one_of = [](std::vector<std::string> names) {
    return [names = std::move(names)](const std::string& text) { return arguments::read_one_of(names, text); };
  };
  const std::vector<std::string> backends = backend_names(program_.plugins);
  flags_.add(kRunning, {.name = "backend",
                        .type = "NAME",
                        .help = "The backend that computes: " + arguments::comma_separated(backends),
                        .take = stores(parsed_.runtime.backend, one_of(backends))});
  flags_.add(kRunning, {.name = "compute-dtype",
                        .type = "{float32,bfloat16}",
                        .help = "The type that matrix products multiply: float32, or bfloat16 (weights and sums stay float32)",
                        .otherwise = parsed_.compute_dtype,
                        .take = stores(parsed_.compute_dtype, one_of({"float32", "bfloat16"}))});
  flags_.add(kRunning, {.name = "threads",
                        .type = "INT",
                        .help = "Compute threads of each trainer",
                        .take = stores(parsed_.runtime.threads, arguments::read_positive<int32_t>)});
  flags_.add(kRunning, {.name = "memory-limit",
                        .type = "BYTES",
                        .help = "The most memory of this process, in bytes or as 200MiB; a model that needs more is refused, "
                                "with advice",
                        .take = stores(parsed_.runtime.memory_limit, arguments::read_bytes)});
}

/// Adds flags for how tasks talk to each other, and how long they wait.
void Flags::add_network() {
  const std::vector<std::string> transports = transport_names(program_.plugins);
  flags_.add(kRunning,
             {.name = "transport",
              .type = "NAME",
              .help = "The transport between tasks: " + arguments::comma_separated(transports) +
                      " (auto: tasks of one machine share memory, others talk over tcp)",
              .take = stores(parsed_.runtime.transport, [transports](const std::string& text) {
                return arguments::read_one_of(transports, text);
              })});
  flags_.add(kRunning, {.name = "compression",
                        .type = "NAME",
                        .help = "Fewer bytes between tasks, for slow networks: bfloat16, float16, int8, or top-k (gradients "
                                "only)",
                        .take = stores(parsed_.runtime.compression, cluster::parse_compression)});
  flags_.add(kRunning, {.name = "ready-timeout-secs",
                        .type = "NUMBER",
                        .help = "Longest wait for the other tasks of a cluster, at the start and when one is lost",
                        .otherwise = shown(RunConfigOptions().ready_timeout_secs) + ", with --cluster " +
                                     shown(kThreadsReadyTimeoutSecs),
                        .take = stores(parsed_.ready_timeout_secs, arguments::read_number<double>)});
  flags_.add(kRunning, {.name = "heartbeat-secs",
                        .type = "NUMBER",
                        .help = "Seconds between two heartbeats of this task; a peer that is silent for three times as long "
                                "counts as lost",
                        .otherwise = shown(parsed_.runtime.heartbeat_secs),
                        .take = stores(parsed_.runtime.heartbeat_secs, arguments::read_number<double>)});
  flags_.add(kRunning, {.name = "on-sigterm",
                        .type = "{end,leave}",
                        .help = "What SIGTERM and SIGHUP mean: end (the job ends, saved), or leave (this task gives way, "
                                "saved: it ends with status 143, and is to be started again); or set SHOAL_ON_SIGTERM",
                        .otherwise = "end",
                        .take = [this](const std::string& name) -> Result<void> {
                          const auto meaning = parse_on_sigterm(name, "");
                          if (!meaning) return invalid_argument(name + " is neither end nor leave");
                          parsed_.on_sigterm = *meaning;
                          return {};
                        }});
}

/// Adds flags for the environment variables by which a launcher gives this task its rank in a job (cluster/place.h).
void Flags::add_place() {
  const auto add = [this](const char* flag, const char* type, const char* name, std::string help) {
    const bool whole = type == std::string_view("INT");
    const auto take = [this, name, whole](const std::string& text) -> Result<void> {
      if (whole) SHOAL_TRY_VOID(as_void(arguments::read_number<int32_t>(text)));
      parsed_.variables[name] = text;
      return {};
    };
    flags_.add(kRunning, {.name = flag,
                          .type = type,
                          .help = std::move(help) + "; or set " + name,
                          .excludes = {"cluster"},
                          .take = take});
  };
  add("rank", "INT", "SHOAL_RANK", "This task's number among those of its job, from 0");
  add("world-size", "INT", "SHOAL_WORLD_SIZE", "How many tasks the job has");
  add("rendezvous", "HOST:PORT", "SHOAL_RENDEZVOUS", "The host:port where rank 0 answers and the tasks meet");
  add("ps", "INT", "SHOAL_PS",
      "Of tasks that Slurm, MPI, torchrun, ... have started, how many serve; default one of four");
  flags_.add(kRunning, {.name = "evaluator",
                        .help = "Of such tasks, the last one evaluates; or set SHOAL_EVALUATOR=1",
                        .excludes = {"cluster"},
                        .take = [this](const std::string& text) -> Result<void> {
                          if (text == "true") parsed_.variables["SHOAL_EVALUATOR"] = "1";
                          return {};
                        }});
  add("source", "NAME", "SHOAL_SOURCE",
      "The only source that says which task this is: local, TF_CONFIG, slurm, open-mpi, ... (shoal config names it)");
}

/// Adds flags that say who may join the job, and where a task listens.
void Flags::add_security() {
  flags_.add(kRunning, {.name = "token-file",
                        .type = "FILE",
                        .help = "File that holds the job's token (shoal keys token), which encrypts tcp; or set SHOAL_TOKEN",
                        .variable = "SHOAL_TOKEN_FILE",
                        .take = stores_text(parsed_.token_file)});
  flags_.add(kRunning, {.name = "tls-dir",
                        .type = "FOLDER",
                        .help = "Instead of a token: folder of this task's own certificate (shoal keys task), which limits it "
                                "to its role",
                        .variable = "SHOAL_TLS_DIR",
                        .take = stores_text(parsed_.tls_dir)});
  flags_.add(kRunning, {.name = "bind",
                        .type = "HOST[:PORT]",
                        .help = "Listen on this host or host:port, instead of the cluster's address for this task",
                        .excludes = {"cluster"},
                        .take = stores_text(parsed_.bind)});
  flags_.add(kRunning, {.name = "insecure",
                        .help = "Without a token or certificate: allow plain tcp to other machines, where everybody who reaches "
                                "the ports can join",
                        .variable = "SHOAL_INSECURE",
                        .take = stores(parsed_.insecure, arguments::read_switch)});
}

void Flags::add_output() {
  flags_.add(kOutput, {.name = "metrics",
                       .type = "PORT|ADDRESS:PORT",
                       .help = "Let monitoring systems ask this task: /metrics (Prometheus) and /healthz. A port, of this "
                               "machine alone, or ADDRESS:PORT, which needs a token or certificate beyond this machine; with "
                               "shoal launch each task adds its number",
                       .variable = "SHOAL_METRICS",
                       .take = [this](const std::string& text) -> Result<void> {
                         SHOAL_TRY_VOID(as_void(monitor::parse_metrics_address(text)));
                         parsed_.config.metrics = text;
                         return {};
                       }});
  flags_.add(kOutput, {.name = "json",
                       .help = "End with one line of JSON on standard output: the results",
                       .take = stores(parsed_.command_line.json, arguments::read_switch)});
  flags_.add(kOutput, {.name = "profile",
                       .help = "Measure 50 training steps kernel by kernel: a table in the log, and profile.json in the model's "
                               "folder",
                       .take = stores(parsed_.profile, arguments::read_switch)});
  flags_.add(kOutput, {.name = "quiet",
                       .help = "Warnings and errors only",
                       .take = stores(parsed_.quiet, arguments::read_switch)});
}

void Flags::add_own() {
  for (const ProgramFlag& flag : program_.flags) {
    Flag own{.name = flag.name, .help = flag.help};
    if (const bool* const on = std::get_if<bool>(&*flag.otherwise)) {
      if (*on) own.off_name = "no-" + flag.name;
      bool& value = parsed_.switches[flag.name];
      value = *on;
      own.take = stores(value, arguments::read_switch);
    } else {
      own.type = type_of(flag);
      own.otherwise = shown_default(flag);
      own.take = [this, &flag](const std::string& text) -> Result<void> {
        SHOAL_TRY_VOID(check_text(text, flag));
        parsed_.texts[flag.name] = text;
        return {};
      };
    }
    flags_.add(kModel, std::move(own));
  }
}

/// Returns the words with each "--param name=value" as "--name=value"; such a name may have "_" for "-".
Result<std::vector<std::string>> Flags::without_params(std::vector<std::string> words) const {
  const std::string param = std::string("--") + kParam;
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
    if (equals == std::string::npos || equals == 0)
      return invalid_argument(param + ": \"" + text + "\" is no NAME=VALUE");
    std::string name = text.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (!flags_.find(name)) return invalid_argument(param + ": there is no flag --" + name);
    words[i] = "--" + name + text.substr(equals);
  }
  return words;
}

Result<bool> Flags::read(int argc, const char* const* argv) {
  SHOAL_TRY(const std::vector<std::string> words, without_params({argv + std::min(argc, 1), argv + argc}));
  return flags_.read(words, cluster::process_getenv);
}

}  // namespace

Result<FlagsOutcome> parse_flags(const ProgramInfo& program, FlagReader reader, int argc, const char* const* argv) {
  SHOAL_TRY_VOID(check_plugins(program.plugins));
  Flags flags(program, reader);
  if (Result<void> checked = flags.check(); !checked)
    return std::move(checked).error().with_context("the program's flags");
  const Result<bool> runs = flags.read(argc, argv);
  if (runs && *runs) return FlagsOutcome{.exit_status = std::nullopt, .flags = std::move(flags.parsed())};
  FlagsOutcome outcome;
  if (runs) {
    std::fputs(flags.help(argc > 0 ? argv[0] : "program").c_str(), stdout);
    outcome.exit_status = 0;
  } else {
    std::fprintf(stderr, "error: %s; --help lists the flags\n", runs.error().message().c_str());
    outcome.exit_status = exit_status(runs.error().kind());
  }
  return outcome;
}

}  // namespace shoal
