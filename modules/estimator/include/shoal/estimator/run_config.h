// SPDX-License-Identifier: Apache-2.0
#pragma once
/// RunConfig: where results go, how often things are written, and this process's place in the cluster.
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "shoal/base/dtype.h"
#include "shoal/base/log.h"
#include "shoal/base/process_info.h"
#include "shoal/base/result.h"
#include "shoal/base/shape.h"
#include "shoal/base/std_function.h"
#include "shoal/base/stop.h"
#include "shoal/cluster/compression.h"
#include "shoal/cluster/tf_config.h"
#include "shoal/estimator/learned.h"

namespace shoal {

class Environment;
struct Plugins;
class Storage;
struct TaskHost;

/// An option that is unset, None or has a value. A default-constructed Setting is unset; std::nullopt makes it None.
template <class T>
class Setting {
 public:
  Setting() {}
  Setting(std::nullopt_t) : state_(State::kNone) {}  // NOLINT: an implicit conversion
  Setting(std::optional<T> value) {                  // NOLINT
    if (value) {
      make(*std::move(value));
    } else {
      state_ = State::kNone;
    }
  }
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Setting> &&
           !std::is_same_v<std::remove_cvref_t<U>, std::nullopt_t> &&
           !std::is_same_v<std::remove_cvref_t<U>, std::optional<T>>) Setting(U&& value) {  // NOLINT
    make(T(std::forward<U>(value)));
  }
  Setting(const Setting& other) { copy(other); }
  Setting(Setting&& other) noexcept { take(std::move(other)); }
  Setting& operator=(Setting other) noexcept {
    clear();
    take(std::move(other));
    return *this;
  }
  ~Setting() { clear(); }

  bool is_unset() const { return state_ == State::kUnset; }
  bool is_none() const { return state_ == State::kNone; }
  bool has_value() const { return state_ == State::kValue; }
  const T& operator*() const { return value_; }
  /// The value; nothing if unset or None.
  std::optional<T> optional() const { return has_value() ? std::optional<T>(value_) : std::nullopt; }

 private:
  enum class State : uint8_t { kUnset, kNone, kValue };
  void make(T&& value) {
    ::new (static_cast<void*>(&value_)) T(std::move(value));
    state_ = State::kValue;
  }
  [[gnu::noinline]] void copy(const Setting& other) {
    if (other.has_value()) ::new (static_cast<void*>(&value_)) T(other.value_);
    state_ = other.state_;
  }
  [[gnu::noinline]] void take(Setting&& other) {
    if (other.has_value()) ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
    state_ = other.state_;
  }
  [[gnu::noinline]] void clear() {  // Not inlined, or g++ 12 warns about value_ in code that uses a Setting.
    if (has_value()) value_.~T();
    state_ = State::kUnset;
  }
  // Not a std::optional: each type of optional adds some milliseconds to the compilation of every file that includes
  // this header (docs/decisions/light-headers.md).
  union {
    T value_;
  };
  State state_ = State::kUnset;
};

/// How the gradients of several trainers become updates. RunConfig accepts kAsync and kSync; kBoundedStaleness, which this
/// version lacks, is an error that names it.
enum class UpdateStrategyKind : uint8_t { kAsync, kSync, kBoundedStaleness };
/// Returns "async", "sync" or "bounded_staleness".
std::string_view to_string(UpdateStrategyKind kind);
/// Parses what to_string() returns. For any other name InvalidArgument lists the valid ones.
Result<UpdateStrategyKind> parse_update_strategy(std::string_view name);

/// What a terminate signal (SIGTERM, SIGHUP) means to a task whose process handles signals. Ctrl-C comes from a person,
/// and always means kEnd.
enum class OnSigterm : uint8_t {
  kEnd,    ///< The job ends: the task saves its state, and the file that marks the end says `interrupted`.
  kLeave,  ///< The task saves its state and exits with status 143, to be started again. Nothing marks the job as ended.
};
/// Returns "end" or "leave".
std::string_view to_string(OnSigterm meaning);
/// Parses "end" or "leave". For any other `name`, InvalidArgument lists these two and says where the user gave the name:
/// `where`, such as "--on-sigterm".
Result<OnSigterm> parse_on_sigterm(std::string_view name, std::string_view where);

struct UpdateStrategyOptions {
  UpdateStrategyKind kind = UpdateStrategyKind::kAsync;
  /// For sync, the number of gradients per update: a number from 1 to the number of trainers, or a multiple of the number
  /// of trainers. With fewer gradients than trainers, the slowest trainers of each step are backups: their gradients are
  /// dropped. Default: the number of trainers.
  std::optional<int64_t> replicas_to_aggregate = {};
  /// For sync, optional: the number of trainers, chief included. RunConfig refuses any other value.
  std::optional<int64_t> total_replicas = {};
  friend bool operator==(const UpdateStrategyOptions&, const UpdateStrategyOptions&) = default;
};

/// A variable for which RunConfigOptions::placement chooses a server.
struct PlacementRequest {
  std::string_view variable;
  DType dtype = DType::kFloat32;
  Shape shape;
  int32_t num_ps = 1;
};
/// Returns the index of the ps that holds the variable, in [0, num_ps). Pure: all trainers must get equal results.
using Placement = std::function<int32_t(const PlacementRequest&)>;

/// How this process computes, and how it communicates with others.
struct RuntimeOptions {
  /// Compute threads of a replica, >= 1. Default: usable cores divided by the job's tasks on this host (or in this
  /// process), at least 1. (Parameter servers with synchronous updates share all cores, since trainers wait for them.)
  std::optional<int32_t> threads = {};
  /// The transport, as a scheme before host:port in addresses. Default: tcp; inproc for threads of one process.
  std::optional<std::string> transport = {};
  /// The name of the backend. Default: onednn if the build has it, else portable.
  std::optional<std::string> backend = {};
  /// The type of the operands of matrix products and convolutions: kFloat32, or kBFloat16, to which they are first rounded
  /// (CompileOptions::compute_dtype). Weights, optimizers, gradients and losses are float32 either way.
  /// FailedPrecondition if the backend does not support the type on this machine.
  DType compute_dtype = DType::kFloat32;
  /// How gradients and weights travel between the tasks of a cluster. Default: as float32. With other settings, a
  /// cluster with one trainer no longer computes the same bits as local mode.
  cluster::Compression compression = {};
  /// Local mode: how many replicas average their gradients, >= 1. Same bits as synchronous updates with so many trainers.
  int32_t replicas = 1;
  /// The most memory in bytes that this process may use, >= 1048576. A model, a batch or a server's part that would
  /// need more (docs/memory.md) is refused before it is computed, with FailedPrecondition and advice. Default: only
  /// what exceeds the machine's memory, or the limit of the cgroup or of `ulimit -v`, is refused.
  std::optional<int64_t> memory_limit = {};
  /// Seconds between signs of life on this task's connections, > 0 and <= 65, on every transport between processes. If
  /// three intervals pass without a sign, other tasks treat this one as lost: they go on without it, or wait for it.
  double heartbeat_secs = 5;
  /// With synchronous updates: how many seconds the other trainers wait for a lost trainer, > 0. Afterwards they
  /// compute its share of each step, until the trainer is back.
  double lost_grace_secs = 60;
  /// Backends and transports of the program's own, which `backend` and `transport` may name (plugins.h). They replace those
  /// of the build that have the same name. Null: only those of the build.
  std::shared_ptr<const Plugins> plugins = {};
  friend bool operator==(const RuntimeOptions&, const RuntimeOptions&) = default;
};

/// Options that a caller may set. Intervals are in seconds and finite.
struct RunConfigOptions {
  /// Output directory for checkpoints, events and exports; not the empty string. May also come from TF_CONFIG.
  std::optional<std::string> model_dir = {};
  /// A second folder for checkpoints, best on another disk. If a checkpoint cannot be written to model_dir (its disk is
  /// full, say), it goes to a folder of this run in spare_dir, and training continues; events that cannot be written are
  /// dropped, and no evaluation uses such a checkpoint. Each later checkpoint tries model_dir first; the first success
  /// deletes the one in spare_dir. A start resumes from spare_dir if the checkpoint there is newer than those of model_dir,
  /// or if those are damaged. It leaves that checkpoint where it is, with a warning, if it belongs to another folder (of
  /// which model_dir is a copy), or if model_dir was trained without spare_dir meanwhile; a folder that was moved finds its
  /// checkpoint. If the last checkpoint lies in spare_dir, training ends with Unavailable; a later start with room in
  /// model_dir completes the run. Default: a checkpoint that cannot be written ends training.
  std::optional<std::string> spare_dir = {};
  /// Writes a checkpoint every this many global steps, >= 0 (0: never by steps). Only this or save_checkpoints_secs may
  /// have a value. If both are unset, a checkpoint is written every 600 s; if one is None and the other unset, none is.
  Setting<int64_t> save_checkpoints_steps = {};
  /// Writes a checkpoint every this many seconds, >= 0 (0: never by time).
  Setting<double> save_checkpoints_secs = {};
  /// Writes training summaries every this many global steps, >= 0; 0 or None: none.
  std::optional<int64_t> save_summary_steps = 100;
  /// Logs the loss and the steps per second every this many steps, > 0; None: logs neither.
  std::optional<int64_t> log_step_count_steps = 100;
  /// How many recent checkpoints stay, >= 0; 0 or None: all.
  std::optional<int64_t> keep_checkpoint_max = 5;
  /// Besides the recent checkpoints, one checkpoint per this many hours (> 0) is kept for ever.
  std::optional<double> keep_checkpoint_every_n_hours = 10000;
  /// The seed from which those of initializers, dropout and shuffles are made. Default: drawn when the run begins, and kept
  /// in run.json.
  std::optional<int64_t> random_seed = {};
  /// The longest delay of a worker's staggered start, in seconds, >= 0; 0 or None: no delay.
  std::optional<int64_t> max_worker_delay_secs = {};
  /// How long this task waits for other tasks, in seconds, > 0; docs/timeouts.md lists the waits. shoal::run() takes 600 if
  /// the flag --cluster describes the cluster.
  double ready_timeout_secs = 7200;
  /// True: writes the graph description beside the checkpoints.
  bool save_model_description = true;
  /// True: continues with the weights of a checkpoint that was trained with other words, classes, buckets or boundaries
  /// than the model has (meaning.h). A warning names the differences. Later checkpoints record the model's words, classes,
  /// buckets and boundaries.
  bool accept_changed_model = false;
  /// Allows infinite losses and norms, updates that write values that are not finite, and checkpoints with such values. By
  /// default these end training with NanLoss, and nothing of that step is saved. A loss that is NaN always ends training.
  bool allow_non_finite = false;
  /// The address at which this process serves /metrics (Prometheus) and /healthz (metrics_endpoint.h). "9400" is a port for
  /// this machine alone; "ADDRESS:PORT" can serve other machines, which requires a token or certificates. With port 0 the
  /// system chooses a free port, which the log names. If processes of one job share a machine, each adds its number in the
  /// job (in the order chief or master, ps, workers, evaluator) to the port. Default: none.
  std::optional<std::string> metrics = {};
  /// How servers apply the gradients of several trainers.
  UpdateStrategyOptions update_strategy = {};
  /// The meaning of a terminate signal for shoal::run(), and run_cluster() if it handles signals. Other calls ignore it.
  OnSigterm on_sigterm = OnSigterm::kEnd;
  /// Chooses the parameter server that holds a variable. Empty: Shoal chooses.
  Placement placement = {};
  /// How this process computes and communicates. Default: the defaults of RuntimeOptions.
  std::optional<RuntimeOptions> runtime = {};
  /// Receives the log lines of all calls with this config or a copy of it, on any of their threads, one line at a time
  /// (guarded_sink()). Nothing goes to standard error then. Default: standard error.
  LogSink log_sink = {};
  /// The storage of this run's files (model_dir, exports, data that a Dataset reads), in every call with this config. All
  /// tasks of a job have to see the same files, so make_memory_storage() is for one process only. Default: the file system.
  std::shared_ptr<Storage> storage = {};
  /// A stop request on this token, from any thread, cancels calls with this config: training saves its state and returns; a
  /// local train_and_evaluate() drops the current evaluation and makes no last one; the tasks of a cluster end as after an
  /// interrupt signal. A lone evaluate(), predict() or export_model() ends with Cancelled. The request is noticed between
  /// steps, and while an input element is made (IterateOptions::stop).
  StopToken stop = {};
  /// The caller's own environment, in which every call with this config runs, one training at a time. It has a log, a
  /// storage and a stop token of its own, so the members log_sink, storage and stop above have to stay unset. Not for
  /// run_cluster(), whose tasks need one environment each. Default: each call makes a production environment from those
  /// three members.
  std::shared_ptr<Environment> environment = {};
};

/// Fields to change by RunConfig::replace(); unset ones stay as they are. A field that cannot be None refuses std::nullopt.
struct RunConfigChanges {
  Setting<std::string> model_dir = {};
  Setting<std::string> spare_dir = {};
  Setting<int64_t> save_checkpoints_steps = {};
  Setting<double> save_checkpoints_secs = {};
  Setting<int64_t> save_summary_steps = {};
  Setting<int64_t> log_step_count_steps = {};
  Setting<int64_t> keep_checkpoint_max = {};
  Setting<double> keep_checkpoint_every_n_hours = {};
  Setting<int64_t> random_seed = {};
  Setting<int64_t> max_worker_delay_secs = {};
  Setting<double> ready_timeout_secs = {};
  Setting<bool> save_model_description = {};
  Setting<bool> accept_changed_model = {};
  Setting<bool> allow_non_finite = {};
  Setting<std::string> metrics = {};
  Setting<UpdateStrategyOptions> update_strategy = {};
  Setting<OnSigterm> on_sigterm = {};
  Setting<Placement> placement = {};
  Setting<RuntimeOptions> runtime = {};
  Setting<LogSink> log_sink = {};
  Setting<std::shared_ptr<Storage>> storage = {};
  Setting<StopToken> stop = {};
  Setting<std::shared_ptr<Environment>> environment = {};
};

/// One change by name, as read from a file or a command line: {"save_summary_steps", "50"}; the value "none" is None.
struct NamedChange {
  std::string name;
  std::string value;
};

/// The functions by which RunConfig::learned() makes and compares a value, as JSON text.
struct LearnedCalls {
  std::function<std::string()> make;
  /// Says in words what `found`, the value of the present data, has that `kept`, the stored value, lacks.
  std::function<std::string(const std::string& kept, const std::string& found)> news;
};

/// Immutable after construction, so any number of threads may read one; copies are cheap.
///
/// Constructors and replace() raise InvalidArgument naming the field, its value and what is accepted. A config made
/// without a TaskConfig is that of local mode; from_environment() reads TF_CONFIG or the variables of a launcher.
class RunConfig {
 public:
  explicit RunConfig(RunConfigOptions options = {}, cluster::TaskConfig task = {});
  /// Reads TF_CONFIG, or else the variables of the launcher that started this process, by `getenv` (cluster/tf_config.h).
  /// InvalidArgument or TypeMismatch for wrong values. Logs the resolved TF_CONFIG, if there is one, and its warnings once
  /// to `log` at info level; without `log`, train_and_evaluate() logs the warnings.
  ///
  /// If variables give this process a rank in a group, the call waits for the processes of all ranks (a rendezvous), for at
  /// most `ready_timeout_secs`. A thread of this process lets the processes of other ranks find this task for as long as
  /// this config or a copy of it lives. Raises DeadlineExceeded, naming the missing ranks, the other errors of
  /// cluster::Rendezvous::meet(), and Cancelled on an interrupt.
  ///
  /// `host`: the TaskHost of the new config, as in with_host(). Null: the config has none, and a rendezvous uses
  /// process_host().
  static RunConfig from_environment(RunConfigOptions options = {}, const cluster::GetEnv& getenv = cluster::process_getenv,
                                    Logger* log = nullptr, std::shared_ptr<const TaskHost> host = nullptr);
  /// from_environment() with errors as values, for programs that are built without exceptions (docs/errors.md).
  static Result<RunConfig> try_from_environment(RunConfigOptions options = {},
                                                const cluster::GetEnv& getenv = cluster::process_getenv,
                                                Logger* log = nullptr, std::shared_ptr<const TaskHost> host = nullptr);

  const std::optional<std::string>& model_dir() const;
  const std::optional<std::string>& spare_dir() const;
  /// The intervals of checkpoints; at most one is set. Both empty, or a value of 0: no checkpoints are written.
  const std::optional<int64_t>& save_checkpoints_steps() const;
  const std::optional<double>& save_checkpoints_secs() const;
  /// True if either interval of checkpoints is set and not 0.
  bool saves_checkpoints() const;
  const std::optional<int64_t>& save_summary_steps() const;
  const std::optional<int64_t>& log_step_count_steps() const;
  const std::optional<int64_t>& keep_checkpoint_max() const;
  const std::optional<double>& keep_checkpoint_every_n_hours() const;
  const std::optional<int64_t>& random_seed() const;
  const std::optional<int64_t>& max_worker_delay_secs() const;
  double ready_timeout_secs() const;
  bool save_model_description() const;
  bool accept_changed_model() const;
  bool allow_non_finite() const;
  const std::optional<std::string>& metrics() const;
  const UpdateStrategyOptions& update_strategy() const;
  OnSigterm on_sigterm() const;
  const Placement& placement() const;
  const std::optional<RuntimeOptions>& runtime() const;
  const LogSink& log_sink() const;
  const std::shared_ptr<Storage>& storage() const;  ///< Null: the file system.
  const StopToken& stop() const;
  /// RunConfigOptions::environment; null if that is not set. environment() returns the environment that calls use.
  const std::shared_ptr<Environment>& own_environment() const;

  // The functions below return the settings of RunConfigOptions::runtime, with the defaults for those that are not set.

  /// The number of compute threads of a replica, on a machine where this process may use `usable_cores` cores.
  int32_t compute_threads(int32_t usable_cores) const;
  /// Says how many compute threads there are, and why: "2 compute threads, for 2 usable cores (4 hyper-threads)",
  /// "1 compute thread, for a quota of 0.5 cores".
  std::string compute_threads_text(const ProcessInfo& process) const;
  std::string transport() const;               ///< The name of the transport, such as "tcp" or "inproc".
  std::optional<std::string> backend() const;  ///< The name of the backend; nothing: the build's default.
  DType compute_dtype() const;
  cluster::Compression compression() const;
  int32_t replicas() const;
  std::optional<int64_t> memory_limit() const;
  double heartbeat_secs() const;
  double lost_grace_secs() const;

  // This process's place in the cluster.
  const std::string& task_type() const;
  int32_t task_id() const;
  bool is_chief() const;
  int32_t num_ps_replicas() const;
  int32_t num_worker_replicas() const;
  std::optional<int64_t> global_id() const;
  const std::string& rpc_address() const;
  const cluster::ClusterSpec& cluster() const;
  /// JSON text of TF_CONFIG's `service`.
  const std::optional<std::string>& service() const;
  /// Which trial of a hyper-parameter search this process runs: task.trial of TF_CONFIG, or the variable SHOAL_TRIAL. None
  /// if neither is set.
  const std::optional<std::string>& trial() const;
  /// The arguments of Dataset::shard(num_trainers(), trainer_index()), which gives each trainer its part of the input.
  int32_t trainer_index() const;
  int32_t num_trainers() const;
  /// The config of trainer `index`, if one process computes for all `count` trainers (runtime.replicas).
  RunConfig as_replica(int32_t index, int32_t count) const;
  const cluster::TaskConfig& task() const;

  /// The facilities that the process lends to this task (task_host.h); null: the defaults. Launchers set it, not users.
  const std::shared_ptr<const TaskHost>& host() const;
  RunConfig with_host(std::shared_ptr<const TaskHost> host) const;
  /// The environment with this task's files, log and clock, for code that reads files outside of training:
  /// csv_columns(), statistics_of(), Dataset::iterate(). In a simulation (testing/world.h) this is the simulated task's
  /// environment; otherwise the config's own one, or one that is made of the config's storage, log_sink and stop.
  std::shared_ptr<Environment> environment() const;

  /// Returns a value that the program derives from its data (vocabularies, means, boundaries, names of classes), as it was
  /// when the run of model_dir began.
  ///
  ///   const auto statistics = config.learned("statistics", [&] { return columns::statistics_of(training); });
  ///
  /// `make` gives the value: a columns::Statistics, std::vector<std::string>, std::vector<double>, double, int64_t or
  /// std::string, or a type with a Learned<> of its own (shoal/base/learned.h). The first start calls it, under the
  /// lock of model_dir, and writes `model_dir/learned/<name>.json`; later starts read that file. The leading task still
  /// calls `make` again, and warns of anything new. Workers and an evaluator wait for the file, at most
  /// ready_timeout_secs; a ps, and a task without a model_dir in its config, call `make` and store nothing.
  ///
  /// `name`: letters, digits, - and _. Raises InvalidArgument for another name; Unavailable where another run holds the
  /// folder; DeadlineExceeded, naming the file, if it did not appear in time; DataLoss for a damaged file; exceptions of
  /// `make` unchanged.
  template <class Make>
  auto learned(std::string_view name, Make make) const {
    using T = std::remove_cvref_t<std::invoke_result_t<Make>>;
    return value_or_raise(try_learned<T>(name, std::move(make)));
  }
  /// Like learned(), but returns errors as values.
  template <class T, class Make>
  Result<T> try_learned(std::string_view name, Make make) const {
    LearnedCalls calls;
    calls.make = [&make] { return Learned<T>::encode(make()); };
    calls.news = [](const std::string& kept, const std::string& found) {
      const Result<T> before = Learned<T>::decode(kept), now = Learned<T>::decode(found);
      return before && now ? Learned<T>::news(*before, *now) : std::string();
    };
    SHOAL_TRY(const std::string text, learned_text(name, calls));
    Result<T> value = Learned<T>::decode(text);
    if (!value) return std::move(value).error().with_context("learned " + std::string(name));
    return value;
  }

  /// Returns a changed copy. If `changes` gives a value to save_checkpoints_steps or save_checkpoints_secs, the other
  /// becomes None; a value for both is an error. If `changes` sets one of them to None, the other keeps its value.
  RunConfig replace(const RunConfigChanges& changes) const;
  /// Like replace() above, with fields given by name; an unknown name is an error that lists the allowed ones. Fields that
  /// are not texts or numbers (placement, a whole runtime) cannot be set by name; `runtime.threads` and the like can.
  RunConfig replace(std::initializer_list<NamedChange> changes) const;
  RunConfig replace(std::span<const NamedChange> changes) const;

 private:
  Result<std::string> learned_text(std::string_view name, const LearnedCalls& calls) const;

  struct State;
  RunConfig with_state(std::shared_ptr<const State> state) const;
  std::shared_ptr<const State> state_;
};

}  // namespace shoal
