// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The interface between graphs and the backends that compute them. A backend compiles a graph into a Program, for given
/// sizes and for the values that the caller wants to read (fetches).
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

/// Identifies the contents of the variables bound to a run, so that a backend may keep data derived from them (reordered
/// weights): equal ids mean equal contents. An invalid id (epoch 0, version 0) means that the contents are unknown, so
/// nothing is kept.
struct VersionId {
  uint64_t epoch = 0;
  uint64_t version = 0;
  friend bool operator==(const VersionId&, const VersionId&) = default;
};

/// Identifies a batch. Random ops draw their numbers for this key, so dropout masks are equal on every backend and after a
/// restart.
struct StepKey {
  uint64_t trainer = 0;
  uint64_t ordinal = 0;  ///< The running number of the batch among those of this trainer.
};

/// A contiguous range of rows (first dimension) of a variable or of an update to it. One piece covers all rows unless
/// the variable is divided among shards.
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

/// Applies updates to variables while later kernels of the run still compute, and while the updates are in the cache.
class UpdateApplier {
 public:
  virtual ~UpdateApplier() = default;
  /// Whether the rows of updates[index] may be applied in several calls of apply(), which several threads may make at once.
  virtual bool by_rows(size_t index) const = 0;
  /// Applies rows [row_begin, row_end) of updates[index] to its variable. `rows` points to these rows, one after another.
  /// No kernel of this run reads the variable any more, so it may be written. Called inside of run(): once for each row of
  /// each update, unless run() fails. The calling thread is the one that called run() or, if by_rows(), any thread.
  virtual void apply(size_t index, int64_t row_begin, int64_t row_end, const std::byte* rows) = 0;
};

/// Learns which updates are complete while later kernels of the run still compute.
class UpdateListener {
 public:
  virtual ~UpdateListener() = default;
  /// Called when StepBinding::updates[index] is complete and this run will neither read nor write it again. The call comes
  /// inside of run() or run_on(), on the thread that called them, once for each update unless the run fails.
  virtual void update_made(size_t index) = 0;
};

/// Knows which variables of a run have arrived, for runs that begin before all variables have arrived.
class VariableArrivals {
 public:
  virtual ~VariableArrivals() = default;
  /// Whether StepBinding::variables[index] may be read: all its pieces have arrived, and stay readable until the run is
  /// over. Once true, it stays true for this run. Called inside of Program::run_on(), on its caller's thread.
  virtual bool has_come(size_t index) const = 0;
};

struct CompiledProgramInfo;

/// An observer that measures kernels. It is called on the thread that called run() or run_on(). If a run fails or is
/// abandoned, run_ended() is not called.
class KernelObserver {
 public:
  virtual ~KernelObserver() = default;
  virtual void run_started(const CompiledProgramInfo& info) = 0;
  /// `kernel` is an index into CompiledProgramInfo::kernels. Not called for views, since they compute nothing.
  virtual void kernel_started(size_t kernel) = 0;
  virtual void kernel_ended(size_t kernel) = 0;
  virtual void run_paused() {}   ///< run_on() returns because a variable is missing.
  virtual void run_resumed() {}  ///< run_on() was called again.
  virtual void run_ended() = 0;
};

struct StepBinding {
  std::span<const TensorView>
      inputs;  ///< A tensor for each of CompiledProgramInfo::inputs, with the shape that was compiled.
  /// The pieces of each of CompiledProgramInfo::variables. The program copies a variable's pieces into its own memory, allocated
  /// by the first run that needs it, unless only look-ups of rows read the variable.
  std::span<const Pieces> variables;
  /// For each of CompileOptions::updates, the memory for its value. If there are several pieces, the program computes
  /// the value in its own memory and then copies it to the pieces.
  std::span<const MutablePieces> updates;
  VersionId weights;
  StepKey key;
  /// If not null, variables may arrive while the program runs: run_on() reads only those that have arrived.
  const VariableArrivals* arrivals = nullptr;
  /// If not null, the run passes every update to the applier. `updates` must point to memory for the updates nevertheless;
  /// after the run the contents of this memory are undefined. The program has to be compiled with
  /// CompileOptions::update_variables.
  UpdateApplier* applier = nullptr;
  /// With an applier: called with fetched()[0], one float32 number, before the first update is applied. If it returns
  /// false, the run applies no update and continues (RunProgress::withheld). Null: always apply. Allowed only
  /// if CompiledProgramInfo::fetches_before_updates.
  bool (*may_apply)(float first_fetched) = nullptr;
  /// If not null, and there is no applier, the listener is called for every update.
  UpdateListener* listener = nullptr;
  KernelObserver* observer = nullptr;
};

/// The properties that results depend on: with equal Numerics, equal inputs give equal bits.
struct Numerics {
  std::string backend;
  std::string version;
  /// The instruction set of the kernels; empty if bits depend neither on it nor on the number of threads.
  std::string isa;
  int threads = 1;
  DType compute_dtype = DType::kFloat32;
  /// How kernels treat denormal floats. The updates of variables in the same job treat them likewise. Determined by
  /// `backend` and `version`.
  Denormals denormals = Denormals::kZero;
  friend bool operator==(const Numerics&, const Numerics&) = default;
};

struct CompiledProgramInfo {
  struct Binding {
    std::string name;
    DType dtype;
    Shape shape;
  };
  std::vector<Binding> inputs;     ///< The inputs that run() needs, in this order.
  std::vector<Binding> variables;  ///< The variables that run() needs, in this order.
  std::vector<Binding> fetched;
  struct KernelInfo {
    std::string node;
    std::string op;
    std::string implementation;  ///< Names the code of the kernel: "reference", "onednn: brg:avx512_core", ...
    NodeCost cost;
  };
  std::vector<KernelInfo> kernels;  ///< The kernels in the order of execution.
  size_t arena_bytes = 0;           ///< The bytes of the block in which compile() placed all activations and workspaces.
  size_t scratch_bytes = 0;         ///< The bytes of scratch memory that kernels share, plus each thread's own part.
  size_t lower_bound_bytes = 0;     ///< The least that arena_bytes can be: the most bytes of values in use at one time.
  size_t kept_bytes = 0;            ///< Memory that kernels keep between runs (reordered weights).
  Numerics numerics;
  /// The number of threads that compute a run: Numerics::threads, or one if the program is too small for more.
  int threads = 1;
  /// True if the first fetch is one float32 number and is known before the first update is applied to its variable.
  bool fetches_before_updates = false;
};

/// The state of a run that may be paused.
struct RunProgress {
  bool done = false;
  size_t missing = 0;     ///< If not done: the index in StepBinding::variables of the variable that the run waits for.
  bool withheld = false;  ///< True if StepBinding::may_apply returned false, so that the applier got nothing.
  // Only the program itself uses the members below.
  size_t next = 0;  ///< The index of the program's step (one kernel) with which the next call continues.
  bool begun = false;
};

/// A compiled graph for fixed sizes. Not thread-safe: one thread runs it at a time (several programs may run in parallel).
class Program {
 public:
  virtual ~Program() = default;
  /// Returns when the run is complete; allocates nothing. InvalidArgument if a binding does not fit or data are out of
  /// range (for a label the error names row and value).
  virtual Result<void> run(const StepBinding& binding) = 0;
  /// As run(), but returns before a kernel that reads a variable that has not arrived (StepBinding::arrivals). The next
  /// call with the same `binding` and `progress` continues there. A run may be abandoned; a failed run cannot be continued.
  /// Every run begins with a new `progress`. The default implementation starts only when all variables have arrived.
  virtual Result<void> run_on(const StepBinding& binding, RunProgress& progress);
  /// The values of CompileOptions::fetches, valid until the next run.
  virtual std::span<const TensorView> fetched() const = 0;
  virtual const CompiledProgramInfo& info() const = 0;
};

struct CompileOptions {
  SymbolSizes sizes;
  std::vector<Value> fetches;  ///< Values that are read through fetched() after a run.
  /// Values that a run writes to StepBinding::updates, each with the shape of a variable or a scalar.
  std::vector<Value> updates;
  /// Full names of the variables that `updates` change, for runs with an applier. Empty: no run has an applier.
  std::vector<std::string> update_variables;
  /// Full names of variables that run() takes even if no kernel reads them, so that several programs of a graph take the
  /// same variables. NotFound for a name that the graph does not have.
  std::vector<std::string> variables;
  int threads = 1;  ///< The largest number of threads that compute this program.
  /// Backends that compute the ops which this one does not support, tried in this order. The reference is always the last.
  std::vector<std::string> fallback;
  /// The type of the operands of products (OpDef::product): kFloat32, or kBFloat16, to which they are rounded first. Sums,
  /// variables, updates and fetched values are float32 in either case.
  DType compute_dtype = DType::kFloat32;
};

class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string_view name() const = 0;
  /// Compiles the nodes of `graph` that compute options.fetches and options.updates. The graph may be destroyed afterwards.
  virtual Result<std::unique_ptr<Program>> compile(const Graph& graph, CompileOptions options) = 0;
  virtual Numerics numerics(int threads) const = 0;
  /// Whether programs with this compute_dtype can be compiled and are fast on this machine. FailedPrecondition says what is
  /// missing, and what to choose instead. The default implementation accepts only float32.
  virtual Result<void> check_compute_dtype(DType dtype) const;
  /// The backend's kernels, for other backends to fall back to (CompileOptions::fallback). Null if it offers none. Lives as
  /// long as the backend.
  virtual KernelSource* kernel_source() { return nullptr; }
};

/// Makes a backend. built_in_backends() lists those of this build, from backends/ and SHOAL_PLUGIN_DIRS, best first.
using BackendFactory = std::unique_ptr<Backend> (*)();
struct BackendEntry {
  std::string name;
  BackendFactory make;
};
const std::vector<BackendEntry>& built_in_backends();
/// Makes the backend with this name. NotFound lists the names if there is no such backend.
Result<std::unique_ptr<Backend>> make_backend(std::string_view name);
/// The name of the backend that programs use by default: onednn if this build has it, else the first one of
/// built_in_backends().
std::string default_backend();

}  // namespace shoal::backends
