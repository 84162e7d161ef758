// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface between graphs and what computes them. A backend compiles (graph, fetches, sizes) to a Program.
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/cpu.h"
#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/graph/cost.h"
#include "shoal/graph/graph.h"

namespace shoal::backends {

class KernelSource;

/// Identifies the contents of the variables bound to a run, so that a backend may keep what it derived from them
/// (reordered weights): equal ids mean equal contents; an invalid id (epoch 0, version 0) means unknown, nothing kept.
struct VersionId {
  uint64_t epoch = 0;
  uint64_t version = 0;
  friend bool operator==(const VersionId&, const VersionId&) = default;
};

/// What random ops depend on beside their own key: dropout masks are equal on every backend and after every restart.
struct StepKey {
  uint64_t trainer = 0;
  uint64_t ordinal = 0;  ///< Number of the batch on that trainer.
};

/// A contiguous range of rows (first dimension) of a variable or of an update to it. One piece covers all rows unless
/// the variable is split over shards.
template <class Byte>
struct BasicPiece {
  Byte* data = nullptr;
  int64_t row_begin = 0;
  int64_t row_end = 0;
};
template <class Byte>
using BasicPieces = std::span<const BasicPiece<Byte>>;
using Piece = BasicPiece<const std::byte>;
using MutablePiece = BasicPiece<std::byte>;
using Pieces = BasicPieces<const std::byte>;
using MutablePieces = BasicPieces<std::byte>;

/// Applies updates to variables while later kernels of the run still compute, and what was made is still in the cache.
class UpdateApplier {
 public:
  virtual ~UpdateApplier() = default;
  /// Whether rows of updates[index] may be applied apart from each other, also by several threads at once.
  virtual bool by_rows(size_t index) const = 0;
  /// Rows [row_begin, row_end) of updates[index], dense, at `rows`. No kernel of this run reads the variable any more, so
  /// it may be written. Called inside run(), for each row of each update once unless run() fails; on other threads than its
  /// caller's only where by_rows().
  virtual void apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) = 0;
};

/// Told which updates are complete while later kernels of the run still compute.
class UpdateListener {
 public:
  virtual ~UpdateListener() = default;
  /// StepBinding::updates[index] is written, and this run does not touch it any more. Called inside run() or run_on(), on the
  /// caller's thread, for each update once unless the run fails.
  virtual void update_made(size_t index) = 0;
};

/// Knows which variables of a run have come, for runs that begin while others are still on their way.
class VariableArrivals {
 public:
  virtual ~VariableArrivals() = default;
  /// Whether StepBinding::variables[index] may be read: all of its pieces are there, and stay until the run is over. Once
  /// true it stays so for this run. Called inside Program::run_on(), on its caller's thread.
  virtual bool has_come(size_t index) const = 0;
};

struct ProgramInfo;

/// Told of each kernel of a run, from the thread that called run() or run_on(): for those who measure. A run that fails, or is
/// left, ends without run_ended().
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void run_started(const ProgramInfo& info) = 0;
  /// `kernel` counts ProgramInfo::kernels. Views run nothing, so they are left out.
  virtual void kernel_started(size_t kernel) = 0;
  virtual void kernel_ended(size_t kernel) = 0;
  virtual void run_paused() {}   ///< run_on() returns, since a variable is missing.
  virtual void run_resumed() {}  ///< It was called again.
  virtual void run_ended() = 0;
};

struct StepBinding {
  std::span<const TensorView> inputs;  ///< One for each of ProgramInfo::inputs, in the shapes it was compiled for.
  /// One per ProgramInfo::variables. Several pieces are gathered into memory of the program, made by the first run that
  /// needs it, unless all that reads the variable are look-ups of rows.
  std::span<const Pieces> variables;
  /// One per CompileOptions::updates: where its value is written. Several pieces are filled from memory of the program.
  std::span<const MutablePieces> updates;
  VersionId weights;
  StepKey key;
  /// If not null, variables may come while the program runs: run_on() looks at those alone that have.
  const VariableArrivals* arrivals = nullptr;
  /// If not null, it is given every update, and the contents of `updates` are undefined afterwards (the memory is needed
  /// all the same). The program was compiled with CompileOptions::update_variables.
  UpdateApplier* applier = nullptr;
  /// With an applier: asked about fetched()[0], one float32 number, before the first update is applied. False: none is, and the
  /// run goes on without (RunProgress::withheld). Null: nobody asks. Only where ProgramInfo::fetches_before_updates.
  bool (*may_apply)(float first_fetched) = nullptr;
  /// If not null, and there is no applier, it is told of every update.
  UpdateListener* listener = nullptr;
  KernelObserver* observer = nullptr;
};

/// What equal bits are promised for (DESIGN, "Equal bits").
struct Numerics {
  std::string backend;
  std::string version;
  std::string isa;  ///< Empty if bits depend neither on the instruction set nor on the number of threads.
  int threads = 1;
  DType compute_dtype = DType::kFloat32;
  /// What kernels take denormal floats for, and so what updates of the same job take them for. It follows from `backend` and `version`.
  Denormals denormals = Denormals::kZero;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

struct ProgramInfo {
  struct Binding {
    std::string name;
    DType dtype;
    Shape shape;
  };
  std::vector<Binding> inputs;     ///< What run() must be given, in this order.
  std::vector<Binding> variables;  ///< The variables that run() must be given, in this order.
  std::vector<Binding> fetched;
  struct KernelInfo {
    std::string node;
    std::string op;
    std::string implementation;  ///< What computes it: "reference", "onednn: brg:avx512_core", ...
    NodeCost cost;
  };
  std::vector<KernelInfo> kernels;  ///< The kernels in the order of execution.
  size_t arena_bytes = 0;           ///< Planned memory: activations and workspaces.
  size_t scratch_bytes = 0;         ///< Scratch memory, both what kernels share and what each thread has.
  size_t lower_bound_bytes = 0;     ///< The largest sum of values that live at the same time.
  size_t kept_bytes = 0;            ///< Memory that kernels keep for themselves (reordered weights).
  Numerics numerics;
  /// How many threads compute: those of its numerics, or one where a step is too small to be worth more.
  int threads = 1;
  /// True if the first fetch is one float32 number, and known before the first update is applied to its variable.
  bool fetches_before_updates = false;
};

/// How far a run is.
struct RunProgress {
  bool done = false;
  size_t missing = 0;     ///< If it is not done: which of StepBinding::variables it needs next.
  bool withheld = false;  ///< True if StepBinding::may_apply has refused, so that the applier was given nothing.
  // The program's own:
  size_t next = 0;  ///< Where it goes on.
  bool begun = false;
};

/// A compiled graph for fixed sizes. Not thread-safe: one thread runs it at a time (several programs run in parallel).
class Program {
 public:
  virtual ~Program() = default;
  /// Blocks; allocates nothing. InvalidArgument if a binding does not fit or data is out of range (a label: names row and
  /// value).
  virtual Result<void> run(const StepBinding& binding) = 0;
  /// As run(), but only as far as StepBinding::arrivals allow: until the next kernel reads a variable that has not come.
  /// Called again with the same `binding` and `progress`, it goes on there. A run that is left, or failed, is over; every
  /// run begins with a new `progress`. Here: nothing begins before all variables have come.
  virtual Result<void> run_on(const StepBinding& binding, RunProgress& progress);
  /// Values of CompileOptions::fetches, valid until the next run.
  virtual std::span<const TensorView> fetched() const = 0;
  virtual const ProgramInfo& info() const = 0;
};

struct CompileOptions {
  SymbolSizes sizes;
  std::vector<Value> fetches;  ///< Values that are read through fetched() after a run.
  /// Values that are written to bound memory, each with the shape of a variable or a scalar.
  std::vector<Value> updates;
  /// Full names of the variables that `updates` change, for runs with an applier. Empty: there will be none.
  std::vector<std::string> update_variables;
  /// Full names of variables that run() is given though nothing may read them: so that several programs of a graph take the
  /// same ones. NotFound for one that the graph does not have.
  std::vector<std::string> variables;
  int threads = 1;  ///< The most threads that compute this program.
  /// Backends to fall back to, op by op, in this order. The reference is always the last.
  std::vector<std::string> fallback;
  /// What products (OpDef::product) multiply: kFloat32, or kBFloat16, to which their operands are rounded first. Everything
  /// else is float32 either way: sums, variables, updates, what is fetched.
  DType compute_dtype = DType::kFloat32;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Only what fetches and updates need is compiled. The graph may be destroyed afterwards.
  virtual Result<std::unique_ptr<Program>> compile(const Graph& graph, CompileOptions options) = 0;
  virtual Numerics numerics(int threads) const = 0;
  /// Whether programs of this compute_dtype can be compiled, and are worth it on this machine. FailedPrecondition says what
  /// is missing, and what to choose instead. Here: float32 alone.
  virtual Result<void> check_compute_dtype(DType dtype) const;
  /// Its kernels, for others to fall back to (CompileOptions::fallback); null if it has none to lend. Lives as long as
  /// this.
  virtual KernelSource* kernel_source() { return nullptr; }
};

/// Backends of this build, best first. Generated from the folders of backends/ and of SHOAL_PLUGIN_DIRS.
using BackendFactory = std::unique_ptr<Backend> (*)();
struct BackendEntry {
  std::string name;
  BackendFactory make;
};
const std::vector<BackendEntry>& built_in_backends();
/// NotFound listing the names if there is none.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name);
/// The default: onednn where it was built in, else the first.
std::string default_backend();

}  // namespace shoal::backends
