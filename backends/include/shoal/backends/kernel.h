// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The part that a backend has to write: kernels for single nodes. The executor (compile_with) does the rest for all
/// backends: order, liveness plan, bindings, op-by-op fall-back. A backend with an executor of its own implements
/// Backend::compile itself.
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

/// One node of a compilation, in which all sizes are known.
struct KernelRequest {
  const Node& node;  ///< Op, name and attributes. Valid only during make_kernel().
  std::span<const TensorType> inputs;
  std::span<const TensorType> outputs;
  /// True for an input that is a variable (its contents change only if KernelCall::weights does), false for an activation.
  std::span<const bool> input_is_variable;
  int threads;
  RandomKey graph_seed;
  /// The op of `node`. Valid only during make_kernel() (which copies OpDef::kernel if the op is a user's own).
  const OpDef* op = nullptr;
};

/// Returns "float32 [32, 10], float32 [5, 10] -> float32 [32, 5]", for errors.
std::string shapes_of(const KernelRequest& request);

/// Receives the rows of a kernel's output 0 as soon as they are computed; they are not written to the output's memory.
struct RowSink {
  UpdateApplier* applier = nullptr;
  size_t update = 0;
  explicit operator bool() const { return applier != nullptr; }
  void take(int64_t row_begin, int64_t row_end, const float* rows) const {
    applier->apply(update, row_begin, row_end, reinterpret_cast<const std::byte*>(rows));
  }
};

/// Scratch memory with a separate part for each compute thread.
struct ThreadScratch {
  std::byte* first = nullptr;
  size_t stride = 0;
  std::byte* of(int thread) const { return first + size_t(thread) * stride; }
};

struct KernelCall {
  std::span<const TensorView> inputs;  ///< If the op uses only an input's shape, the input's data is null.
  /// An output may lie in the memory of an input if the op's OpDef::in_place allows it. Otherwise an output overlaps no
  /// input and no other output.
  std::span<const MutableTensorView> outputs;
  /// scratch_bytes() bytes of memory, aligned to 64 bytes and shared between kernels, with undefined contents.
  std::byte* scratch;
  /// Scratch memory with a separate part for each of KernelRequest::threads threads. A part has thread_scratch_bytes()
  /// bytes, is aligned to 64 bytes, and its contents are undefined. It belongs to the same thread in all kernels, so it
  /// stays in the cache of one core.
  ThreadScratch thread_scratch = {};
  VersionId weights;  ///< Identifies the contents of all variable inputs.
  StepKey key;
  /// Set only if gives_rows(), and even then not in every run. The kernel passes each row of output 0 to the sink once, in
  /// any order, on any thread, and may use the memory of output 0 as scratch memory. The rows have the same bits as they
  /// would have in output 0.
  RowSink sink = {};
  /// Set only if takes_pieces(), and not in every run: input 0 is a variable that consists of these pieces, in the order of
  /// their rows, and inputs[0].data is only the first piece.
  Pieces pieces = {};
};

/// Computes one node. Owned by one program and used by one thread at a time. run() allocates nothing.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual Result<void> run(const KernelCall& call) = 0;
  virtual size_t scratch_bytes() const { return 0; }
  virtual size_t thread_scratch_bytes() const { return 0; }
  virtual bool gives_rows() const { return false; }  ///< True if it uses KernelCall::sink; output 0 is then float32.
  /// True if the kernel uses KernelCall::pieces: it reads so few rows of input 0 that copying the pieces together would
  /// cost more than its own work.
  virtual bool takes_pieces() const { return false; }
  virtual size_t kept_bytes() const { return 0; }  ///< Memory that the kernel keeps between runs (reordered weights).
  virtual std::string implementation() const = 0;  ///< The kernel's name in CompiledProgramInfo.
};

/// Makes kernels. If make_kernel() returns null, this source does not support the node (op, dtypes, shapes), and the next
/// source is asked. An error (no memory, a library that does not start) ends the compilation; the compiler adds op, name
/// and shapes.
class KernelSource {
 public:
  virtual ~KernelSource() = default;
  virtual Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) = 0;
  /// As make_kernel(), for a float32 product (OpDef::product) that rounds its inputs 0 and 1 to bfloat16, multiplies these
  /// and adds up in float32. If this returns null, the kernel of make_kernel() is used, and its operands are rounded before
  /// it runs.
  virtual Result<std::unique_ptr<Kernel>> make_bfloat16_kernel(const KernelRequest&) { return nullptr; }
};

/// Options of compile_with(), which compiles each node with the first of `sources` that supports the node. The last source
/// is the reference backend, which supports every op of the catalogue. Just before it come the sources of
/// CompileOptions::fallback. Sources must live until compile_with() returns.
struct ExecutorOptions {
  std::vector<KernelSource*> sources;
  Numerics numerics;  ///< The numerics of the programs; compute_dtype is set from CompileOptions.
  /// Sets how many threads a library may use for work that the calling thread gives it, and returns the former number. It
  /// is called with 1 when compilation and run() begin, and with the former number when they end, because the thread may be
  /// the user's and use the same library. Null: there is no such library.
  int (*set_library_threads)(int count) = nullptr;
  using Range = void (*)(void* context, int64_t begin, int64_t end);
  /// Calls run(context, begin, end) for disjoint ranges that cover [0, count), on up to `threads` threads. Null: the backend
  /// uses one thread.
  void (*parallel)(int threads, int64_t count, Range run, void* context) = nullptr;
  /// Returns how many of `threads` threads are worth using for a step of this total cost. If `worth` is null, all are used.
  int (*worth)(int threads, const NodeCost& step) = nullptr;
};
Result<std::unique_ptr<Program>> compile_with(const Graph& graph, CompileOptions options, const ExecutorOptions& executor);

}  // namespace shoal::backends
