// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a backend writes: kernels for single nodes. The executor (compile_with) does the rest for all of them: order,
/// liveness plan, bindings, op-by-op fall-back. A backend with an executor of its own implements Backend::compile itself.
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"

namespace shoal::backends {

struct TensorType {
  DType dtype;
  Shape shape;
};

/// One node of a compilation, all sizes known.
struct KernelRequest {
  const Node& node;  ///< Gives op, name and attributes. Valid during make_kernel only.
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  /// Input i is a variable (its contents change only with the version) rather than an activation.
  std::span<const bool> input_is_variable;
  int threads;
  RandomKey graph_seed;
  /// The op of `node`. Valid during make_kernel only (a user's own kernel is copied from here).
  const OpDef* op = nullptr;
};

/// "float32 [32, 10], float32 [5, 10] -> float32 [32, 5]", for errors.
std::string shapes_of(const KernelRequest& request);

/// Where a kernel may leave rows of its output 0 as soon as they are made, instead of in its memory.
struct RowSink {
  UpdateApplier* applier = nullptr;
  size_t update = 0;
  explicit operator bool() const { return applier != nullptr; }
  void take(int64_t row_begin, int64_t row_end, const float* rows) const {
    applier->apply(update, row_begin, row_end, reinterpret_cast<const std::byte*>(rows));
  }
};

/// Memory of each compute thread's own.
struct ThreadScratch {
  std::byte* first = nullptr;
  size_t stride = 0;
  std::byte* of(int thread) const { return first + size_t(thread) * stride; }
};

struct KernelCall {
  std::span<const TensorView> inputs;  ///< An input that the op declares shape-only has null data.
  /// May lie in the memory of an input where the op's OpDef::in_place says so, else overlaps nothing.
  std::span<const MutableTensorView> outputs;
  /// Memory of scratch_bytes(), aligned to 64, shared between kernels; its contents are undefined.
  std::byte* scratch;
  /// Memory of thread_scratch_bytes() for each of KernelRequest::threads, aligned to 64. In no kernel does another
  /// thread write it, so it stays in the cache of one core. Contents undefined.
  ThreadScratch thread_scratch = {};
  VersionId weights;  ///< Identifies the contents of all variable inputs.
  StepKey key;
  /// Set only where gives_rows(), and not on every run: takes each row of output 0 once, in any order, from any thread.
  /// Output 0's own memory is scratch then. The rows' bits are those that it would have held.
  RowSink sink = {};
  /// Set only where takes_pieces(), and not on every run: input 0 is a variable in these pieces, of rows in order, and
  /// inputs[0].data is the first of them, and not the whole.
  Pieces pieces = {};
};

/// Runs one node. Owned by one program, used by one thread at a time. run() allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Result<void> run(const KernelCall& call) = 0;
  virtual size_t scratch_bytes() const { return 0; }
  virtual size_t thread_scratch_bytes() const { return 0; }
  virtual bool gives_rows() const { return false; }  ///< True if it knows KernelCall::sink; output 0 is float32 then.
  /// True if it knows KernelCall::pieces: it reads so few rows of input 0 that to put them together would cost more
  /// than the kernel does.
  virtual bool takes_pieces() const { return false; }
  virtual size_t kept_bytes() const { return 0; }  ///< Memory that it keeps for itself (reordered weights).
  virtual std::string implementation() const = 0;  ///< Its name in ProgramInfo.
};

/// Makes kernels: null where the backend does not take the node (op, dtypes, shapes) natively, so that the next source is
/// asked. An error (no memory, a library that does not start) ends the compilation; the compiler adds op, name and shapes.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  virtual Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) = 0;
  /// The same for a product (OpDef::product) of float32 that rounds its inputs 0 and 1 to bfloat16, multiplies those, and
  /// adds up in float32. Null: what make_kernel() gives is run on operands that were rounded before.
  virtual Result<std::unique_ptr<Kernel>> make_bfloat16_kernel(const KernelRequest&) { return nullptr; }
};

/// Compiles with the first source that takes each node. `sources` ends with the reference, which takes every op of the
/// catalogue; those of CompileOptions::fallback come just before it. They outlive the call only.
/// `set_library_threads(count)` says how many threads a library below may take for work that the calling thread gives it, and
/// returns what it was before. It is called with 1 as compilation and run() begin, and with the former number as they end,
/// because the thread may be the user's, whose own loops ask the same library. Null: there is no such library.
/// `parallel` calls run(context, begin, end) for disjoint ranges that cover [0, count), on up to `threads` threads; null: a
/// backend of one thread.
struct ExecutorOptions {
  std::vector<KernelSource*> sources;
  Numerics numerics;  ///< The numerics of its programs; compute_dtype is put in from CompileOptions.
  int (*set_library_threads)(int count) = nullptr;
  using Range = void (*)(void* context, int64_t begin, int64_t end);
  void (*parallel)(int threads, int64_t count, Range run, void* context) = nullptr;
  /// How many of `threads` threads a step is worth of which this is the cost in all; null: all of them.
  int (*worth)(int threads, const NodeCost& step) = nullptr;
};
Result<std::unique_ptr<Program>> compile_with(const Graph& graph, CompileOptions options, const ExecutorOptions& executor);

}  // namespace shoal::backends
