// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The training loop's view of the parameters: in this process (LocalStore) or on servers (RemoteStore). The loop is the
/// same over both, so one trainer trains the same bits either way (CONTRACT AS-3).
///
/// One step:  begin()            permission to start, newest weights
///            start()            (compute thread) memory for the updates of the batch just drawn
///            apply_during_run() or not: updates may be applied while the program runs
///            listener(),        or not: updates may leave, and variables may come, while the program runs, by exchange()
///            Step::arrivals
///            ...Program::run_on()  reads Step::variables, writes Step::updates; arrival() where one has not come
///            add_rows()         (compute thread) gradients of variables that are updated by rows
///            next_replica(), start() ... where one process computes for several trainers
///            commit()           the update counts: once, everywhere
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

/// What a trainer finds once the model is ready.
struct Ready {
  uint64_t global_step = 0;
  uint64_t epoch = 0;
  /// True if the servers still held this job's state; nothing was initialized or restored.
  bool attached = false;
  /// This trainer's input position, if the job has one for it.
  std::optional<std::string> position;
  /// The positions of the trainers that this process computes beside it (replicas), by trainer.
  Positions other_positions = {};
  /// True if the job asks its trainers to stop: make no step.
  bool stop = false;
  /// The run of the model, as attach() learned it from the servers.
  RunIdentity run = {};
};

/// What begin() hands out. Spans are valid until commit(); their order is that of Store::bind().
struct Step {
  uint64_t global_step = 0;  ///< The global step of the weights.
  backends::VersionId weights;
  std::span<const backends::Pieces> variables;
  /// If not null, some variables are still on their way: run_on() goes as far as they have come.
  const backends::VariableArrivals* arrivals = nullptr;
  std::span<const backends::MutablePieces> updates;  ///< Where the gradients go; start() sets it.
  /// Set by the leader: it takes a snapshot once this update counts (Store::hears_of_saves()).
  bool save_follows = false;
  /// The loss of the batch, which whoever computed it sets for the job's metrics; NaN if it is not known.
  double loss = std::numeric_limits<double>::quiet_NaN();
  /// The share of the trainer's time, 0 to 1, that went by waiting for its input lately; NaN if it is not known.
  double input_wait = std::numeric_limits<double>::quiet_NaN();
};

struct Outcome {
  uint64_t global_step = 0;  ///< The global step after this update, as far as it is known.
  bool applied = true;       ///< False if the update was too old and does not count, or is kept for a commit to come.
  bool stop = false;         ///< True if the job asks its trainers to stop.
};

/// Errors: Unavailable (a server is gone or lost its state; prepare()/attach() again); Cancelled (the job has ended, or an
/// interrupt: nothing more to do); NanLoss (an update has written a value that is not finite, and no snapshot of that
/// version or a later one is given); anything else is final.
class Store {
 public:
  virtual ~Store() = default;

  /// The leader (local process, chief): makes the model ready. `restore` null: from initializers, and so is what it does
  /// not hold. If servers still hold this job's state at or beyond the restore's step, they keep it (Ready::attached).
  virtual Task<Result<Ready>> prepare(RestoreSource* restore, Deadline deadline) = 0;
  /// Everyone else: waits until the leader has made the model ready.
  virtual Task<Result<Ready>> attach(Deadline deadline) = 0;

  /// Which variables a program reads and which it writes updates for, in the program's order, and which get gradients
  /// by rows instead. Once, before begin().
  virtual Result<void> bind(const std::vector<std::string>& variables, const std::vector<std::string>& updates,
                            const std::vector<std::string>& by_rows = {}) = 0;

  virtual Task<Result<Step>> begin(StopToken stop) = 0;
  /// Called from the compute thread, once per begin(). `position` is that of the input after this batch.
  virtual Result<void> start(Step& step, uint64_t ordinal, std::string_view position) = 0;
  /// Called from the compute thread, after start(), where all scalars are known before the program runs: gives what
  /// applies the updates of this step as they are made. Null if commit() applies them. What comes by rows waits for
  /// commit() either way. If the program fails, so have the weights: only prepare() makes such a store usable again.
  virtual backends::UpdateApplier* apply_during_run(std::span<const double>) { return nullptr; }
  /// Who is to be told which updates are made while the program runs; null if nobody.
  virtual backends::UpdateListener* listener() { return nullptr; }
  /// Sends updates that are made, and receives variables that are on their way, until `stop`. Where there is a listener, or
  /// Step::arrivals, it is awaited beside the program, and has ended before commit() or whatever else is called.
  virtual Task<Result<void>> exchange(StopToken) { co_return Result<void>{}; }
  /// Beside exchange(): waits until Step::arrivals has `variable`. Unavailable: it will not come.
  virtual Task<Result<void>> arrival(size_t) { co_return Result<void>{}; }
  /// Called from the compute thread, after the program ran: takes the step's gradients by rows, all lookups in one
  /// call. The views are read before it returns. Not called for a model without such variables.
  virtual Result<void> add_rows(Step& step, std::span<const RowGradients> gradients) = 0;
  /// Called from the compute thread: the input of `trainer`, one of those that this process computes, has come to its end.
  virtual void note_end_of_input(int) {}
  /// Called from the compute thread: what the program has computed, with `scalars`, is the contribution of one trainer,
  /// and start() begins that of the next; commit() makes one update of all, in their order. Servers have no replicas:
  /// FailedPrecondition.
  virtual Result<void> next_replica(std::span<const double> scalars) = 0;
  virtual Task<Result<Outcome>> commit(Step step, std::span<const double> scalars) = 0;
  /// Gives up the step: the store makes no update of it. The compute thread calls this instead of commit(). The backend has
  /// then passed no gradient to the store's UpdateApplier, if there is one (backends::RunProgress::withheld).
  virtual void withdraw() {}
  /// True if start() wants the position of every batch; otherwise only snapshot() does.
  virtual bool wants_positions() const = 0;

  /// True if a snapshot is complete only behind an update with Step::save_follows. The leader takes others where it has to.
  virtual bool hears_of_saves() const { return false; }
  /// The current state, held. `own_positions` are those of the inputs of the trainers that this process computes, after
  /// the last commit; servers know them already.
  virtual Task<Result<std::unique_ptr<Snapshot>>> snapshot(Positions own_positions) = 0;
  /// The leader: a server gives way, and waits for a checkpoint of what it holds.
  virtual bool asked_to_save() const { return false; }
  /// The leader, before what it has written becomes the newest checkpoint: it still leads (CONTRACT FA-11). Unavailable:
  /// another process does, or shard 0, which says who leads, cannot be reached.
  virtual Task<Result<void>> check_lease() = 0;
  /// The leader: a trainer that has failed for good and is not back, so that nothing is to be saved (CONTRACT CK-17).
  virtual Task<Result<std::optional<JobFailure>>> failure() { co_return std::optional<JobFailure>(); }
  /// The leader, while it does something else for long (an evaluation): lets servers and other trainers know that it is
  /// still here, until `stop`. Nothing else of the store is in use meanwhile. A server that is lost shows afterwards.
  virtual Task<Result<void>> stay(StopToken stop) = 0;
  /// True after an operation failed with Unavailable because of a server, until prepare() or attach(): what tells a lost
  /// server from a full disk, say.
  virtual bool lost() const = 0;
  /// The newest global step, asked for outside of steps.
  virtual Task<Result<uint64_t>> global_step() = 0;
  virtual const ShardPlan& plan() const = 0;
  /// The variable as the last commit left it, valid until the next begin(). NotFound if there is no such variable. Where
  /// servers have the model: FailedPrecondition.
  virtual Result<TensorView> variable(std::string_view) const {
    return failed_precondition("the model lies on parameter servers: a trainer cannot read a variable between steps");
  }
};

}  // namespace shoal::cluster
