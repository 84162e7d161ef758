#include "shoal/estimator/run.h"

#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>

#include "cluster_of_threads.h"
#include "shoal/backends/backend.h"
#include "shoal/estimator/profiler.h"
#include "shoal/estimator/task_host.h"
#include "shoal/monitor/progress.h"
#include "shoal/monitor/terminal.h"

namespace shoal {
namespace {

/// Everything that the command line says.
struct Parsed {
  CommandLine command_line;
  RunConfigOptions config;
  std::optional<std::string> cluster;
  bool quiet = false;
  bool profile = false;
  bool insecure = false;
  std::optional<std::string> token_file;
  std::optional<std::string> tls_dir;
  std::optional<std::string> bind;
  std::map<std::string, std::string> texts;  // values of the program's own flags, as written
  std::map<std::string, bool> switches;      // those that are on or off
};

/// The number that `text` is, all of it; the one reading for checks and values.
template <class T>
std::optional<T> number(const std::string& text) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

template <class T>
CLI::Validator reads_as(const std::string& type) {
  return CLI::Validator([type](std::string& text) { return number<T>(text) ? "" : text + " is no " + type; }, type);
}

class Arguments {
 public:
  enum class Reader { kBody, kNobody };  ///< of CommandLine
  Arguments(const ProgramInfo& program, Reader reader);
  /// The exit status if the program shall end here (help, wrong usage).
  std::optional<int> parse(int argc, const char* const* argv);
  Parsed& parsed() { return parsed_; }

 private:
  void add_for_body();
  void refuse_for_body();
  void add_common();
  void add_own();
  void finish();

  const ProgramInfo& program_;
  CLI::App app_;
  Parsed parsed_;
  RuntimeOptions runtime_;
  std::string compute_dtype_ = "float32";
  std::optional<int64_t> save_steps_;
  std::optional<double> save_secs_;
};

Arguments::Arguments(const ProgramInfo& program, Reader reader) : program_(program), app_(program.description) {
  parsed_.command_line.steps = program.steps;
  parsed_.command_line.batch = program.batch;
  parsed_.command_line.throttle_secs = program.throttle_secs;
  if (reader == Reader::kBody) {
    add_for_body();
  } else {
    refuse_for_body();
  }
  add_common();
  add_own();
}

/// What only the program's body can heed.
void Arguments::add_for_body() {
  CommandLine& line = parsed_.command_line;
  app_.add_option("--steps", line.steps, "Train until the global step reaches this number")->check(reads_as<int64_t>("INT"))->group("Training");
  app_.add_option("--batch", line.batch, "Examples per trainer and step")
      ->check(reads_as<int64_t>("INT"))
      ->check(CLI::PositiveNumber)
      ->capture_default_str()
      ->group("Training");
  app_.add_option("--data-dir", line.data_dir, "Folder of the data")->envname("SHOAL_DATA")->group("Files");
  app_.add_option("--throttle-secs", line.throttle_secs, "Least seconds between the starts of two evaluations")
      ->check(reads_as<int64_t>("INT"))
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str()
      ->group("Files");
}

void Arguments::refuse_for_body() {
  for (const char* name : {"--steps", "--batch", "--data-dir", "--throttle-secs"}) {
    const auto refuse = [name](const std::string&) {
      throw CLI::ValidationError(name, "has no effect: this program's code decides it");
    };
    app_.add_option_function<std::string>(name, refuse)->group("");  // not listed
  }
}

void Arguments::add_common() {
  CommandLine& line = parsed_.command_line;
  app_.add_option("--seed", parsed_.config.random_seed,
                  "Seed of initial weights, dropout and shuffles; same seed, same result")
      ->check(reads_as<int64_t>("INT"))
      ->group("Training");
  app_.add_option("--model-dir", parsed_.config.model_dir, "Folder for checkpoints, events and exports; training resumes from what is there")->group("Files");
  app_.add_option("--save-checkpoints-steps", save_steps_, "A checkpoint every so many global steps")->check(reads_as<int64_t>("INT"))->group("Files");
  app_.add_option("--save-checkpoints-secs", save_secs_, "A checkpoint every so many seconds")
      ->check(reads_as<double>("NUMBER"))
      ->group("Files");
  app_.add_option("--cluster", parsed_.cluster, "Run a cluster as threads of this process: ps:2,worker:3,evaluator (a chief is always there)")->group("Running");
  app_.add_option("--ready-timeout-secs", parsed_.config.ready_timeout_secs, "Longest wait for the other tasks of a cluster, at the start and when one is lost")->capture_default_str()->group("Running");
  app_.add_option(
          "--transport", runtime_.transport,
          "How tasks talk: tcp, shm (processes of one machine), auto (shm between tasks of one machine, else tcp), inproc "
          "(threads of one process)")
      ->group("Running");
  app_.add_option("--backend", runtime_.backend, "What computes: onednn, reference")->group("Running");
  app_.add_option("--compute-dtype", compute_dtype_,
                  "What products multiply: float32, or bfloat16 (weights and sums stay float32)")
      ->check(CLI::IsMember({"float32", "bfloat16"}))
      ->capture_default_str()
      ->group("Running");
  app_.add_option_function<std::string>(
          "--compression",
          [this](const std::string& text) {
            auto compression = cluster::parse_compression(text);
            if (!compression) throw CLI::ValidationError("--compression", compression.error().message());
            runtime_.compression = *compression;
          },
          "Fewer bytes between tasks, for slow networks: bfloat16, float16, int8, or top-k (gradients only)")
      ->group("Running");
  app_.add_option("--threads", runtime_.threads, "Compute threads of each trainer")->check(reads_as<int32_t>("INT"))->check(CLI::PositiveNumber)->group("Running");
  app_.add_option("--heartbeat-secs", runtime_.heartbeat_secs,
                  "Seconds between two signs of life of this task; who gives none for three times that is gone")
      ->check(reads_as<double>("NUMBER"))
      ->capture_default_str()
      ->group("Running");
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
                "Without a token or certificate: allow plain tcp to other machines: whoever reaches the ports can join")
      ->envname("SHOAL_INSECURE")
      ->group("Running");
  app_.add_flag("--json", line.json, "End with one line of JSON on standard output: the results")->group("Output");
  app_.add_flag("--profile", parsed_.profile,
                "Measure 50 training steps kernel by kernel: a table in the log, and profile.json in the model's folder")
      ->group("Output");
  app_.add_flag("--quiet", parsed_.quiet, "Warnings and errors only")->group("Output");
}

void Arguments::add_own() {
  for (const ProgramFlag& flag : program_.flags) {
    if (std::holds_alternative<bool>(flag.otherwise)) {
      bool& on = parsed_.switches[flag.name];
      on = std::get<bool>(flag.otherwise);
      app_.add_flag("--" + flag.name + (on ? ",!--no-" + flag.name : ""), on, flag.help)->group("Model");
      continue;
    }
    CLI::Option* option = app_.add_option("--" + flag.name, parsed_.texts[flag.name], flag.help)->group("Model");
    if (!flag.choices.empty()) option->check(CLI::IsMember(flag.choices));
    if (const auto* text = std::get_if<std::string>(&flag.otherwise)) option->default_str(*text);
    if (std::holds_alternative<int64_t>(flag.otherwise)) option->check(reads_as<int64_t>("INT"));
    if (std::holds_alternative<double>(flag.otherwise)) option->check(reads_as<double>("NUMBER"));
    if (const auto* number = std::get_if<double>(&flag.otherwise)) option->default_str(CLI::detail::to_string(*number));
    if (const auto* number = std::get_if<int64_t>(&flag.otherwise)) option->default_str(std::to_string(*number));
  }
}

std::optional<int> Arguments::parse(int argc, const char* const* argv) {
  try {
    app_.parse(argc, argv);
  } catch (const CLI::CallForHelp& help) {
    return app_.exit(help);
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "error: %s; --help lists the flags\n", error.what());
    return exit_status(ErrorKind::kInvalidArgument);
  }
  finish();
  return std::nullopt;
}

/// What was written becomes values of the right types; the texts were checked while parsing.
void Arguments::finish() {
  for (const ProgramFlag& flag : program_.flags) {
    const std::string& text = parsed_.texts[flag.name];
    Params::Item item = flag.otherwise;
    if (std::holds_alternative<bool>(item)) {
      item = parsed_.switches[flag.name];
    } else if (app_.count("--" + flag.name) > 0) {
      if (std::holds_alternative<int64_t>(item)) item = *number<int64_t>(text);
      if (std::holds_alternative<double>(item)) item = *number<double>(text);
      if (std::holds_alternative<std::string>(item)) item = text;
    }
    parsed_.command_line.flags.set(flag.name, std::move(item));
  }
  if (!save_steps_ && !save_secs_) save_steps_ = program_.save_checkpoints_steps;
  if (save_steps_) parsed_.config.save_checkpoints_steps = *save_steps_;
  if (save_secs_) parsed_.config.save_checkpoints_secs = *save_secs_;
  runtime_.compute_dtype = *dtype_from_string(compute_dtype_);
  parsed_.config.runtime = runtime_;
}

/// Collects what tasks report, from any thread.
class Reports {
 public:
  void add(const TaskReport& report) {
    const std::lock_guard lock(mutex_);
    for (const auto& [name, value] : report.metrics) merged_[name] = value;
    if (report.global_step) steps_ = std::max(steps_.value_or(0), *report.global_step);
    if (report.examples_per_second) rate_ = rate_.value_or(0) + *report.examples_per_second;
    if (report.seconds) seconds_ = std::max(seconds_.value_or(0), *report.seconds);
  }
  std::string to_json() const {
    nlohmann::ordered_json json = nlohmann::ordered_json::object();
    for (const auto& [name, value] : merged_) json[name] = value;
    if (steps_) json["global_step"] = *steps_;
    if (rate_) json["examples_per_second"] = *rate_;
    if (seconds_) json["seconds"] = *seconds_;
    return json.dump();
  }
  /// "Evaluated at global step 2000: accuracy 0.9912, loss 0.0271"; empty if no task of this process evaluated.
  std::string to_text() const {
    std::string text;
    char value[64];
    for (const auto& [name, metric] : merged_) {
      if (name == "global_step") continue;
      std::snprintf(value, sizeof value, "%.4g", metric);
      text += (text.empty() ? ": " : ", ") + name + " " + value;
    }
    const auto step = merged_.find("global_step");
    if (text.empty() || step == merged_.end()) return {};
    return "Evaluated at global step " + std::to_string(int64_t(step->second)) + text;
  }

 private:
  std::mutex mutex_;
  std::map<std::string, double> merged_;
  std::optional<uint64_t> steps_;
  std::optional<double> rate_;
  std::optional<double> seconds_;
};

int print_error(const Error& error, std::string_view task = {}) {
  std::fprintf(stderr, "error: %s%s%s\n", std::string(task).c_str(), task.empty() ? "" : ": ", error.message().c_str());
  return exit_status(error.kind());
}

int run_threads(const Parsed& parsed, const TaskHost& host, const ProgramBody& body) {
  const cluster::ClusterSize size = value_or_raise(cluster::parse_cluster_size(*parsed.cluster));
  const auto outcomes = run_cluster_of_threads(size, parsed.config, host, [&](RunConfig config) {
    body(std::move(config), parsed.command_line);
  });
  int status = 0;
  for (const TaskOutcome& outcome : outcomes) {
    if (outcome.result) continue;
    const int own = print_error(outcome.result.error(), outcome.task);
    if (status == 0) status = own;
  }
  return status;
}

int run_one(const Parsed& parsed, const TaskHost& host, const ProgramBody& body) {
  Logger log(host.sink, "", [] { return std::chrono::system_clock::now(); });
  RunConfig config = RunConfig::from_environment(parsed.config, cluster::process_getenv, &log);
  body(config.with_host(std::make_shared<TaskHost>(host)), parsed.command_line);
  return 0;
}

int run_program(int argc, const char* const* argv, const ProgramInfo& program, Arguments::Reader reader,
                const ProgramBody& body) {
  std::optional<Arguments> arguments;
  try {
    arguments.emplace(program, reader);
  } catch (const CLI::ConstructionError& error) {
    return print_error(invalid_argument(std::string("the program's flags: ") + error.what()));
  }
  if (const auto status = arguments->parse(argc, argv)) return *status;
  const Parsed& parsed = arguments->parsed();
  auto credential = transport::find_credential(
      {.token = {.file = parsed.token_file, .text = cluster::process_getenv("SHOAL_TOKEN")}, .tls_dir = parsed.tls_dir},
      std::chrono::system_clock::now());
  if (!credential) return print_error(credential.error());
  auto shoal_run = process_shoal_run();
  if (!shoal_run) return print_error(shoal_run.error());
  TaskHost host;
  host.shoal_run = std::move(*shoal_run);
  host.credential = std::move(*credential);
  host.bind = parsed.bind;
  host.handle_signals = true;
  host.insecure = parsed.insecure;
  if (parsed.profile) host.profile_steps = ProfilerOptions().steps;
  const monitor::Terminal terminal = monitor::read_terminal();
  const monitor::ProgressChoice choice{
      .quiet = parsed.quiet, .json = parsed.command_line.json, .renews_lines = terminal.renews_lines};
  host.progress = std::make_shared<monitor::ProgressDisplay>(
      monitor::ProgressOptions{.mode = monitor::choose_progress_mode(choice), .columns = terminal.columns},
      monitor::write_to_stderr);
  host.sink = host.progress->wrap(stderr_sink(parsed.quiet ? LogLevel::kWarning : LogLevel::kInfo));
  Reports reports;
  host.report = [&reports](const TaskReport& report) { reports.add(report); };
  auto status = call_user("the program",
                          [&] { return parsed.cluster ? run_threads(parsed, host, body) : run_one(parsed, host, body); });
  host.progress->finish();
  if (!status) return print_error(status.error());
  if (*status != 0) return *status;
  if (parsed.command_line.json) {
    std::cout << reports.to_json() << std::endl;
  } else if (const std::string text = reports.to_text(); !text.empty() && !parsed.quiet) {
    std::cout << text << std::endl;
  }
  return 0;
}

}  // namespace

int run(int argc, const char* const* argv, const ProgramInfo& program, const ProgramBody& body) {
  return run_program(argc, argv, program, Arguments::Reader::kBody, body);
}

int run(int argc, const char* const* argv, const std::function<void(RunConfig config)>& body) {
  return run_program(argc, argv, {.description = "A program that trains a model with Shoal"}, Arguments::Reader::kNobody,
                     [&body](RunConfig config, const CommandLine&) { body(std::move(config)); });
}

}  // namespace shoal
