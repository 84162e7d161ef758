// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training loop's view of the parameters: in this process (LocalStore) or on servers (RemoteStore). One loop runs
/// over both, so one trainer computes the same bits either way.
/// One step:  begin()                permission to start, and the newest weights
///            start()                (compute thread) memory for the gradients of the batch just drawn
///            apply_during_run()     optional: updates are applied while the program runs
///            exchange()             while the program runs, if listener() or Step::arrivals is not null: sends gradients
///                                   that are computed, and receives variables that have not arrived yet
///            Program::run_on()      reads Step::variables, writes Step::updates; arrival() waits for one variable
///            add_rows()             (compute thread) gradients of variables that are updated by rows
///            next_replica(), start() ... where one process computes for several trainers
///            commit()               makes the update, exactly once on every shard
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/environment.h"
#include "shoal/cluster/protocol.h"
#include "shoal/cluster/row_gradients.h"
#include "shoal/cluster/run_identity.h"
#include "shoal/cluster/shard_plan.h"
#include "shoal/cluster/snapshot.h"

namespace shoal::cluster {

/// The state that a trainer finds when the model is ready.
struct Ready {
  uint64_t global_step = 0;
  uint64_t epoch = 0;
  /// True if the servers still held this job's model, so that nothing was initialized or restored.
  bool attached = false;
  /// This trainer's input position, if one is stored.
  std::optional<std::string> position;
  /// The input positions of the other trainers that this process computes (replicas), by the trainers' numbers.
  Positions other_positions = {};
  /// True if the job asks its trainers to stop: this trainer then makes no step.
  bool stop = false;
  /// Identifies the training run that made the model on the servers. attach() gets it from them.
  RunIdentity run = {};
};

/// The result of begin(). Spans are valid until commit(); they are in the order given to Store::bind().
struct Step {
  uint64_t global_step = 0;  ///< The global step of the weights.
  backends::VersionId weights;
  std::span<const backends::Pieces> variables;
  /// Set while some variables have not arrived: run_on() computes until it needs one of them. Null if all have arrived.
  const backends::VariableArrivals* arrivals = nullptr;
  std::span<const backends::MutablePieces> updates;  ///< Where the program writes gradients; start() sets it.
  /// The leader sets this if it will take a snapshot as soon as this update is applied (Store::hears_of_saves()).
  bool save_follows = false;
  /// The loss of the batch, for the job's metrics. The caller of commit() sets it; NaN if it is not known.
  double loss = std::numeric_limits<double>::quiet_NaN();
  /// The share of the trainer's time, 0 to 1, that it lately spent waiting for its input; NaN if it is not known.
  double input_wait = std::numeric_limits<double>::quiet_NaN();
};

struct Outcome {
  uint64_t global_step = 0;  ///< The newest known global step after this update.
  bool applied = true;       ///< False if the update was dropped as too old, or waits for a later commit.
  bool stop = false;         ///< True if the job asks its trainers to stop.
};

/// Errors of all functions: Unavailable (a server is gone or has lost its state; call prepare() or attach() again);
/// Cancelled (the job has ended, or an interrupt came: nothing more to do); NanLoss (an update has written a value that is
/// not finite; from then on no snapshot can be taken); any other error is final.
class Store {
 public:
  virtual ~Store() = default;

  /// Called by the leader (the local process, or the chief): makes the model ready. Each variable gets the value that
  /// `restore` has for it, or else its initial value; `restore` may be null. Exception: if the servers still have this
  /// job's state, and `restore` is not of a later step, the servers keep their state (Ready::attached).
  virtual Task<Result<Ready>> prepare(RestoreSource* restore, Deadline deadline) = 0;
  /// Called by all other trainers: waits until the leader has made the model ready.
  virtual Task<Result<Ready>> attach(Deadline deadline) = 0;

  /// Declares which variables the program reads, which it writes gradients for (both in the program's order), and which get
  /// gradients of single rows instead. Called once, before begin().
  virtual Result<void> bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                            const std::vector<std::string>& by_rows = {}) = 0;

  virtual Task<Result<Step>> begin(StopToken stop) = 0;
  /// Sets Step::updates. Called on the compute thread, once per begin(). `position`: the input's position after this batch.
  virtual Result<void> start(Step& step, uint64_t ordinal, std::string_view position) = 0;
  /// Called on the compute thread after start(), if all scalars (learning rates and the like) are known before the program
  /// runs. Returns the object that applies each update of this step as soon as its gradient is computed; null if commit()
  /// applies all updates. Gradients of single rows always wait for commit(). If the program fails after this call, only
  /// some of the weights are updated, and only prepare() makes the store usable again.
  virtual backends::UpdateApplier* apply_during_run(std::span<const double>) { return nullptr; }
  /// The object that the running program notifies of each gradient as soon as it is computed; null if there is none.
  virtual backends::UpdateListener* listener() { return nullptr; }
  /// Sends gradients that are computed, and receives variables that are still coming, until `stop`. Awaited while the
  /// program runs, if there is a listener() or Step::arrivals. No call but arrival() is made before exchange() has ended.
  virtual Task<Result<void>> exchange(StopToken) { co_return Result<void>{}; }
  /// Called during exchange(): waits until Step::arrivals has the variable. Unavailable if the variable will not come.
  virtual Task<Result<void>> arrival(size_t) { co_return Result<void>{}; }
  /// Called on the compute thread after the program ran: takes the step's gradients of single rows, from all lookups in one
  /// call. The views are read before the call returns. Not called if no variable is updated by rows.
  virtual Result<void> add_rows(Step& step, std::span<const RowGradients> gradients) = 0;
  /// Called on the compute thread: the input of `trainer`, a trainer that this process computes, has ended.
  virtual void note_end_of_input(int) {}
  /// Called on the compute thread if this process computes for several trainers (replicas): ends the contribution of one of
  /// them, which consists of the program's results and `scalars`. The next start() begins the contribution of the next one.
  /// commit() makes a single update of all contributions, in order. FailedPrecondition if the model is on servers, where a
  /// process computes for one trainer only.
  virtual Result<void> next_replica(std::span<const double> scalars) = 0;
  virtual Task<Result<Outcome>> commit(Step step, std::span<const double> scalars) = 0;
  /// Abandons the step, without an update. The compute thread calls this instead of commit(). Call it only if no update
  /// was applied while the program ran: apply_during_run() returned null, or the run gave no gradient to the object that
  /// it returned (backends::RunProgress::withheld).
  virtual void withdraw() {}
  /// True if start() needs the input position of every batch; if false, only snapshot() needs positions.
  virtual bool wants_positions() const = 0;

  /// True if the leader should announce each snapshot by setting Step::save_follows in the update before it. A snapshot
  /// without this announcement lacks residuals of the other trainers. The leader takes one only if it cannot make another
  /// update.
  virtual bool hears_of_saves() const { return false; }
  /// Takes a snapshot of the current state. `own_positions` are the input positions, after the last commit, of the
  /// trainers that this process computes; servers know them already.
  virtual Task<Result<std::unique_ptr<Snapshot>>> snapshot(Positions own_positions) = 0;
  /// For the leader: true if a server was asked to end, and waits for a checkpoint of its state (kStatusLeaveBit).
  virtual bool asked_to_save() const { return false; }
  /// Called by the leader before the checkpoint that it has written becomes the newest one: checks that it is still
  /// leader. Unavailable if another process leads, or if shard 0, which knows who leads, cannot be reached.
  virtual Task<Result<void>> check_lease() = 0;
  /// For the leader: the failure of a trainer that will not come back, if there is one. The leader then saves nothing.
  virtual Task<Result<std::optional<JobFailure>>> failure() { co_return std::optional<JobFailure>(); }
  /// For the leader, during other long work (an evaluation): shows servers, and through them the other trainers, that
  /// it is alive, until `stop`. No other call runs meanwhile. If a server is lost, a later call reports that.
  virtual Task<Result<void>> stay(StopToken stop) = 0;
  /// True after an operation failed with Unavailable because of a server, until prepare() or attach(): the caller can
  /// tell a lost server from other causes of the error, such as a full disk.
  virtual bool lost() const = 0;
  /// Asks for the newest global step, outside of steps.
  virtual Task<Result<uint64_t>> global_step() = 0;
  virtual const ShardPlan& plan() const = 0;
  /// The variable as the last commit left it, valid until the next begin(). NotFound if there is no such variable;
  /// FailedPrecondition if servers have the model.
  virtual Result<TensorView> variable(std::string_view) const {
    return failed_precondition("the model lies on parameter servers: a trainer cannot read a variable between steps");
  }
};

}  // namespace shoal::cluster
