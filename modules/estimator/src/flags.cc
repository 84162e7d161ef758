// SPDX-License-Identifier: Apache-2.0
#include "flags.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>

#include "flag_lists.h"
#include "shoal/base/format.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/number_text.h"
#include "shoal/estimator/program_commands.h"
#include "shoal/monitor/metrics_endpoint.h"
#include "task/plugins.h"

namespace shoal {
namespace {

constexpr auto kParam = "--param";

template <class T>
CLI::Validator reads_as(const std::string& type) {
  return CLI::Validator([type](std::string& text) { return number_from<T>(text) ? "" : text + " is no " + type; }, type);
}

CLI::Validator is_positive() {
  return CLI::Validator(
      [](std::string& text) {
        const std::optional<double> number = number_from<double>(text);
        return number && *number > 0 ? std::string() : text + " is no positive number";
      },
      "POSITIVE");
}

CLI::Validator is_metrics_address() {
  return CLI::Validator(
      [](std::string& text) {
        const auto address = monitor::parse_metrics_address(text);
        return address ? std::string() : address.error().message();
      },
      "");
}

CLI::Validator one_of(std::vector<std::string> names) {
  return CLI::Validator(
      [names = std::move(names)](std::string& text) {
        const bool known = std::find(names.begin(), names.end(), text) != names.end();
        return known ? std::string() : text + " is none of " + CLI::detail::join(names, ", ") + did_you_mean(text, names);
      },
      "");
}

/// Adds a list flag. CLI11 gets the whole list as one text. A check of Shoal's own reads the list, so that an error names
/// the wrong element.
void add_list(CLI::Option& option, const ProgramFlag& flag) {
  const auto check = [&flag](std::string& text) {
    const Result<Params::Item> list = read_list(text, flag);
    return list ? std::string() : list.error().message();
  };
  option.check(CLI::Validator(check, ""))->type_name(list_type(flag))->default_str(list_text(*flag.otherwise));
}

class Flags {
 public:
  Flags(const ProgramInfo& program, FlagReader reader);
  /// Parses the command line. Returns an exit status if the program shall end now.
  std::optional<int> parse(int argc, const char* const* argv);
  ParsedFlags& parsed() { return parsed_; }

 private:
  void add_for_body();
  void refuse_for_body();
  void add_training_and_files();
  void add_running();
  void add_place();
  void add_security();
  void add_output();
  void add_own();
  std::vector<std::string> without_params(int argc, const char* const* argv) const;
  std::string meant() const;

  const ProgramInfo& program_;
  CLI::App app_;
  ParsedFlags parsed_;
};

Flags::Flags(const ProgramInfo& program, FlagReader reader) : program_(program), app_(program.description) {
  parsed_.command_line.steps = program.steps;
  parsed_.command_line.batch = program.batch;
  parsed_.command_line.throttle_secs = program.throttle_secs;
  if (reader == FlagReader::kBody) {
    add_for_body();
  } else {
    refuse_for_body();
  }
  add_training_and_files();
  add_running();
  add_place();
  add_security();
  add_output();
  add_own();
  if (const ProgramCommands* const commands = program_commands()) {
    app_.footer("Commands, in the place of flags: " + CLI::detail::join(commands->names, ", ") +
                ". With --help behind it each says more.");
  }
}

/// Adds flags that have an effect only if the program's own code (ProgramBody) uses their values.
void Flags::add_for_body() {
  CommandLine& line = parsed_.command_line;
  CLI::Option* steps = app_.add_option("--steps", line.steps, "Train until the global step reaches this number")
                           ->check(reads_as<int64_t>("INT"))
                           ->check(is_positive())
                           ->group("Training");
  if (program_.steps) steps->default_str(std::to_string(*program_.steps));
  app_.add_option("--batch", line.batch, "Examples per trainer and step")
      ->check(reads_as<int64_t>("INT"))
      ->check(is_positive())
      ->capture_default_str()
      ->group("Training");
  app_.add_option("--data-dir", line.data_dir, "Folder of the data")->envname("SHOAL_DATA")->group("Files");
  app_.add_option("--throttle-secs", line.throttle_secs,
                  "Least seconds between the starts of two evaluations; the last step is evaluated in any case")
      ->check(reads_as<int64_t>("INT"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Files");
}

void Flags::refuse_for_body() {
  for (const char* name : {"--steps", "--batch", "--data-dir", "--throttle-secs"}) {
    const auto refuse = [name](const std::string&) {
      throw CLI::ValidationError(name, "has no effect: this program's code decides it");
    };
    app_.add_option_function<std::string>(name, refuse)->group("");  // Hidden from --help.
  }
}

void Flags::add_training_and_files() {
  app_.add_option("--seed", parsed_.config.random_seed,
                  "Seed of initial weights, dropout and shuffles; same seed, same result")
      ->check(reads_as<int64_t>("INT"))
      ->group("Training");
  app_.add_flag(
          "--allow-non-finite", parsed_.config.allow_non_finite,
          "Let values become infinite or NaN, and checkpoints hold them; by default training ends with status 3 first")
      ->group("Training");
  app_.add_option("--model-dir", parsed_.config.model_dir,
                  "Folder for checkpoints, events and exports; training resumes from what is there")
      ->group("Files");
  app_.add_option(
          "--spare-dir", parsed_.config.spare_dir,
          "A second folder, best on another disk: a checkpoint that cannot be written to --model-dir is written there")
      ->group("Files");
  CLI::Option* save_steps =
      app_.add_option("--save-checkpoints-steps", parsed_.save_steps,
                      "Global steps between two checkpoints; evaluations during training use checkpoints")
          ->check(reads_as<int64_t>("INT"))
          ->group("Files");
  CLI::Option* save_secs = app_.add_option("--save-checkpoints-secs", parsed_.save_secs, "Seconds between two checkpoints")
                               ->check(reads_as<double>("NUMBER"))
                               ->group("Files");
  app_.add_flag(
          "--accept-changed-model", parsed_.config.accept_changed_model,
          "Use the weights of a checkpoint although its words, classes, buckets or boundaries differ from the model's")
      ->group("Files");
  if (program_.save_checkpoints_steps) {
    save_steps->default_str(std::to_string(*program_.save_checkpoints_steps));
  } else {
    save_secs->default_str(CLI::detail::to_string(kFlagsSaveSecs));
  }
}

void Flags::add_running() {
  app_.add_option_function<std::string>(
          kParam, [](const std::string&) {},
          "The same as --NAME VALUE, for any flag: the form in which a search over hyper-parameters gives flags")
      ->type_name("NAME=VALUE")
      ->group("Running");
  app_.add_option(
          "--predict", parsed_.predict,
          "Instead of training: write what the newest checkpoint predicts for the rows of this file, as CSV, or with "
          "--json as one JSON object per row")
      ->type_name("FILE")
      ->group("Running");
  app_.add_option(
          "--measure-input", parsed_.measure_input,
          "Instead of training: read the training input for so many seconds, and report how fast it is and which stage is "
          "the slowest; with --json as one JSON object")
      ->type_name("SECONDS")
      ->check(reads_as<double>("NUMBER"))
      ->check(is_positive())
      ->excludes("--predict")
      ->group("Running");
  app_.add_option("--cluster", parsed_.cluster,
                  "Run a cluster as threads of this process: ps:2,worker:3,evaluator (a chief is always there), or "
                  "master,ps:2,worker:3")
      ->excludes("--predict")
      ->excludes("--measure-input")
      ->group("Running");
  app_.add_option("--ready-timeout-secs", parsed_.ready_timeout_secs,
                  "Longest wait for the other tasks of a cluster, at the start and when one is lost")
      ->default_str(CLI::detail::to_string(RunConfigOptions().ready_timeout_secs) + ", with --cluster " +
                    CLI::detail::to_string(kThreadsReadyTimeoutSecs))
      ->group("Running");
  app_.add_option("--transport", parsed_.runtime.transport,
                  "The transport between tasks: " + CLI::detail::join(transport_names(program_.plugins), ", ") +
                      " (auto: tasks of one machine share memory, others talk over tcp)")
      ->check(one_of(transport_names(program_.plugins)))
      ->group("Running");
  app_.add_option_function<std::string>(
          "--strategy",
          [this](const std::string& name) {
            const auto kind = parse_update_strategy(name);
            if (!kind) throw CLI::ValidationError("--strategy", kind.error().message());
            parsed_.config.update_strategy.kind = *kind;
          },
          "How trainers' gradients become updates: async (each as it comes), sync (one update for all of a step)")
      ->default_str("async")
      ->group("Running");
  app_.add_option(
          "--replicas-to-aggregate", parsed_.config.update_strategy.replicas_to_aggregate,
          "With sync: gradients per update; with fewer than there are trainers, the first ones count and the rest are "
          "dropped")
      ->check(reads_as<int64_t>("INT"))
      ->group("Running");
  app_.add_option("--replicas", parsed_.runtime.replicas,
                  "Without a cluster: trainers in this process; the weights become those of a synchronous cluster of as "
                  "many trainers")
      ->check(reads_as<int32_t>("INT"))
      ->check(is_positive())
      ->capture_default_str()
      ->group("Running");
  app_.add_option("--backend", parsed_.runtime.backend,
                  "The backend that computes: " + CLI::detail::join(backend_names(program_.plugins), ", "))
      ->check(one_of(backend_names(program_.plugins)))
      ->group("Running");
  app_.add_option("--compute-dtype", parsed_.compute_dtype,
                  "The type that matrix products multiply: float32, or bfloat16 (weights and sums stay float32)")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str()
      ->group("Running");
  app_.add_option_function<std::string>(
          "--compression",
          [this](const std::string& text) {
            auto compression = cluster::parse_compression(text);
            if (!compression) throw CLI::ValidationError("--compression", compression.error().message());
            parsed_.runtime.compression = *compression;
          },
          "Fewer bytes between tasks, for slow networks: bfloat16, float16, int8, or top-k (gradients only)")
      ->group("Running");
  app_.add_option("--threads", parsed_.runtime.threads, "Compute threads of each trainer")
      ->check(reads_as<int32_t>("INT"))
      ->check(is_positive())
      ->group("Running");
  app_.add_option("--memory-limit", parsed_.runtime.memory_limit,
                  "The most memory of this process, in bytes or as 200MiB; a model that needs more is refused, with advice")
      ->transform(CLI::AsSizeValue(true))
      ->group("Running");
  app_.add_option("--heartbeat-secs", parsed_.runtime.heartbeat_secs,
                  "Seconds between two heartbeats of this task; a peer that is silent for three times as long counts as "
                  "lost")
      ->check(reads_as<double>("NUMBER"))
      ->capture_default_str()
      ->group("Running");
  app_.add_option_function<std::string>(
          "--on-sigterm",
          [this](const std::string& name) {
            const auto meaning = parse_on_sigterm(name, "");
            if (!meaning) throw CLI::ValidationError("--on-sigterm", name + " is neither end nor leave");
            parsed_.on_sigterm = *meaning;
          },
          "What SIGTERM and SIGHUP mean: end (the job ends, saved), or leave (this task gives way, saved: it ends with "
          "status 143, and is to be started again); or set SHOAL_ON_SIGTERM")
      ->default_str("end")
      ->group("Running");
  app_.add_option("--lost-grace-secs", parsed_.runtime.lost_grace_secs,
                  "With sync: seconds for which a lost trainer stalls the others; then they make its share of each step")
      ->check(reads_as<double>("NUMBER"))
      ->capture_default_str()
      ->group("Running");
}

/// Adds flags for the environment variables by which a launcher gives this task its rank in a job (cluster/place.h).
void Flags::add_place() {
  const auto add = [this](const char* flag, const char* name, const char* help) {
    return app_
        .add_option_function<std::string>(
            flag, [this, name](const std::string& text) { parsed_.variables[name] = text; }, help)
        ->excludes("--cluster")
        ->group("Running");
  };
  add("--rank", "SHOAL_RANK", "This task's number among those of its job, from 0; or set SHOAL_RANK")
      ->check(reads_as<int32_t>("INT"));
  add("--world-size", "SHOAL_WORLD_SIZE", "How many tasks the job has; or set SHOAL_WORLD_SIZE")
      ->check(reads_as<int32_t>("INT"));
  add("--rendezvous", "SHOAL_RENDEZVOUS", "The host:port where rank 0 answers and the tasks meet; or set SHOAL_RENDEZVOUS");
  add("--ps", "SHOAL_PS",
      "Of tasks that Slurm, MPI, torchrun, ... have started, how many serve; default one of four; or set SHOAL_PS")
      ->check(reads_as<int32_t>("INT"));
  app_.add_flag_callback(
          "--evaluator", [this] { parsed_.variables["SHOAL_EVALUATOR"] = "1"; },
          "Of such tasks, the last one evaluates; or set SHOAL_EVALUATOR=1")
      ->excludes("--cluster")
      ->group("Running");
  add("--source", "SHOAL_SOURCE",
      "The only source that says which task this is: local, TF_CONFIG, slurm, open-mpi, ... (shoal config names it); or "
      "set SHOAL_SOURCE");
}

/// Adds flags that say who may join the job, and where a task listens.
void Flags::add_security() {
  app_.add_option("--token-file", parsed_.token_file,
                  "File that holds the job's token (shoal keys token), which encrypts tcp; or set SHOAL_TOKEN")
      ->envname("SHOAL_TOKEN_FILE")
      ->group("Running");
  app_.add_option(
          "--tls-dir", parsed_.tls_dir,
          "Instead of a token: folder of this task's own certificate (shoal keys task), which limits it to its role")
      ->envname("SHOAL_TLS_DIR")
      ->group("Running");
  app_.add_option("--bind", parsed_.bind,
                  "Listen on this host or host:port, instead of the cluster's address for this task")
      ->excludes("--cluster")
      ->group("Running");
  app_.add_flag("--insecure", parsed_.insecure,
                "Without a token or certificate: allow plain tcp to other machines, where everybody who reaches the "
                "ports can join")
      ->envname("SHOAL_INSECURE")
      ->group("Running");
}

void Flags::add_output() {
  CommandLine& line = parsed_.command_line;
  app_.add_option(
          "--metrics", parsed_.config.metrics,
          "Let monitoring systems ask this task: /metrics (Prometheus) and /healthz. A port, of this machine alone, or "
          "ADDRESS:PORT, which needs a token or certificate beyond this machine; with shoal launch each task adds its "
          "number")
      ->type_name("PORT|ADDRESS:PORT")
      ->envname("SHOAL_METRICS")
      ->check(is_metrics_address())
      ->group("Output");
  app_.add_flag("--json", line.json, "End with one line of JSON on standard output: the results")->group("Output");
  app_.add_flag("--profile", parsed_.profile,
                "Measure 50 training steps kernel by kernel: a table in the log, and profile.json in the model's folder")
      ->group("Output");
  app_.add_flag("--quiet", parsed_.quiet, "Warnings and errors only")->group("Output");
}

void Flags::add_own() {
  for (const ProgramFlag& flag : program_.flags) {
    if (std::holds_alternative<bool>(*flag.otherwise)) {
      bool& on = parsed_.switches[flag.name];
      on = std::get<bool>(*flag.otherwise);
      app_.add_flag("--" + flag.name + (on ? ",!--no-" + flag.name : ""), on, flag.help)->group("Model");
      continue;
    }
    CLI::Option* option = app_.add_option("--" + flag.name, parsed_.texts[flag.name], flag.help)->group("Model");
    if (is_list(*flag.otherwise)) {
      add_list(*option, flag);
      continue;
    }
    if (!flag.choices.empty()) option->check(CLI::IsMember(flag.choices));
    if (const auto* text = std::get_if<std::string>(&*flag.otherwise)) option->default_str(*text);
    if (std::holds_alternative<int64_t>(*flag.otherwise)) option->check(reads_as<int64_t>("INT"));
    if (std::holds_alternative<double>(*flag.otherwise)) option->check(reads_as<double>("NUMBER"));
    if (const auto* number = std::get_if<double>(&*flag.otherwise)) option->default_str(CLI::detail::to_string(*number));
    if (const auto* number = std::get_if<int64_t>(&*flag.otherwise)) option->default_str(std::to_string(*number));
  }
}

/// Returns the arguments with each "--param name=value" as "--name=value"; such a name may have "_" for "-". Splits each
/// "--name=" into two arguments, since CLI11 takes the empty text behind "=" for a missing value.
std::vector<std::string> Flags::without_params(int argc, const char* const* argv) const {
  std::vector<std::string> arguments(argv, argv + argc);
  for (size_t i = 1; i < arguments.size(); ++i) {
    std::string param;
    if (arguments[i] == kParam && i + 1 < arguments.size()) {
      param = arguments[i + 1];
      arguments.erase(arguments.begin() + ptrdiff_t(i) + 1);
    } else if (arguments[i].starts_with(std::string(kParam) + "=")) {
      param = arguments[i].substr(std::string_view(kParam).size() + 1);
    } else {
      continue;
    }
    const size_t equals = param.find('=');
    if (equals == std::string::npos || equals == 0)
      throw CLI::ParseError(kParam + (": \"" + param + "\" is no NAME=VALUE"), 1);
    std::string name = param.substr(0, equals);
    std::replace(name.begin(), name.end(), '_', '-');
    if (!app_.get_option_no_throw("--" + name)) throw CLI::ParseError(kParam + (": there is no flag --" + name), 1);
    arguments[i] = "--" + name + param.substr(equals);
  }
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i].starts_with("--") || !arguments[i].ends_with('=')) continue;
    const CLI::Option* const option = app_.get_option_no_throw(arguments[i].substr(0, arguments[i].size() - 1));
    if (!option || option->get_items_expected_min() == 0) continue;
    arguments[i].pop_back();
    arguments.insert(arguments.begin() + ptrdiff_t(i) + 1, "");
  }
  return arguments;
}

/// Proposes the flag that the user may have meant by the first unexpected word of the command line.
std::string Flags::meant() const {
  std::vector<std::string> names;
  for (const CLI::Option* option : app_.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      if (!option->get_group().empty()) names.push_back("--" + name);
    }
  }
  const std::string first = app_.remaining().front();
  return did_you_mean(first.substr(0, first.find('=')), names);
}

std::optional<int> Flags::parse(int argc, const char* const* argv) {
  try {
    const std::vector<std::string> arguments = without_params(argc, argv);
    std::vector<const char*> texts;
    for (const std::string& argument : arguments) texts.push_back(argument.c_str());
    const PlainLocale locale;  // CLI11 reads numbers by std::strtold(), which obeys the locale.
    app_.parse(int(texts.size()), texts.data());
  } catch (const CLI::CallForHelp& help) {
    return app_.exit(help);
  } catch (const CLI::ExtrasError&) {  // CLI11's own error message lists the unexpected words in reverse order.
    const std::string unknown = CLI::detail::join(app_.remaining(), " ");
    std::fprintf(stderr, "error: not expected: %s%s; --help lists the flags\n", unknown.c_str(), meant().c_str());
    return exit_status(ErrorKind::kInvalidArgument);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "error: %s; --help lists the flags\n", error.what());
    return exit_status(ErrorKind::kInvalidArgument);
  }
  std::erase_if(parsed_.texts, [this](const auto& text) { return app_.count("--" + text.first) == 0; });
  return std::nullopt;
}

}  // namespace

Result<FlagsOutcome> parse_flags(const ProgramInfo& program, FlagReader reader, int argc, const char* const* argv) {
  SHOAL_TRY_VOID(check_plugins(program.plugins));
  try {
    Flags flags(program, reader);
    const std::optional<int> status = flags.parse(argc, argv);
    return FlagsOutcome{.exit_status = status, .flags = std::move(flags.parsed())};
  } catch (const CLI::ConstructionError& error) {
    return invalid_argument(std::string("the program's flags: ") + error.what());
  }
}

}  // namespace shoal
