// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A compiled program: a fixed list of steps, whose values share one block of memory (the arena). Addresses are fixed when
/// the program is compiled, except those of memory that the caller binds to a run. Each run enters the addresses of that
/// memory in the steps before it executes the first step.
#include <memory>
#include <string>
#include <vector>

#include "shoal/backends/kernel.h"
#include "shoal/base/buffer.h"
#include "shoal/base/cpu.h"

namespace shoal::backends {

/// Where the bytes of a value lie.
struct Location {
  enum class Place : uint8_t { kNone, kArena, kConstant, kInput, kVariable, kUpdate };
  Place place = Place::kNone;
  size_t index = 0;  ///< kArena: the byte offset. Else: the number of the constant, input, variable or update.
  friend bool operator==(const Location&, const Location&) = default;
};

/// A step runs a kernel, or copies one value (then it has no kernel, one input and one output).
struct Step {
  std::string name;  ///< For errors: the op, and then the node's name in quotes.
  std::unique_ptr<Kernel> kernel;
  size_t kernel_index = 0;  ///< The kernel's index in CompiledProgramInfo::kernels.
  std::vector<TensorView> inputs;
  std::vector<MutableTensorView> outputs;
  std::vector<Location> input_locations;
  std::vector<Location> output_locations;
  std::vector<size_t> first_reads;   ///< Variables that this step is the first to read.
  std::vector<size_t> updates_done;  ///< Updates that are complete after this step, and that no later step reads.
  /// Updates to be applied after this step: they are complete, and their variables are not read any more.
  std::vector<size_t> updates_to_apply;
  /// The update that is output 0 of the kernel and may be applied while the kernel runs; -1 if there is none.
  ptrdiff_t update_by_rows = -1;
  /// The variable that the kernel reads from several separate blocks of memory (pieces), without copying them into one
  /// block first; -1 if there is none.
  ptrdiff_t pieces_of = -1;
};

/// Sets up the calling thread for compiling or running a program: sets the floating-point mode, and limits the backend's
/// library (such as oneDNN) to one thread. The destructor restores both settings, since the thread may belong to the user.
class ThreadScope {
 public:
  ThreadScope(int (*set_library_threads)(int count), Denormals denormals)
      : mode_(denormals),
        set_library_threads_(set_library_threads),
        before_(set_library_threads ? set_library_threads(1) : 0) {}
  ~ThreadScope() {
    if (set_library_threads_) set_library_threads_(before_);
  }
  ThreadScope(const ThreadScope&) = delete;
  ThreadScope& operator=(const ThreadScope&) = delete;

 private:
  const ComputeMode mode_;
  int (*const set_library_threads_)(int count);
  const int before_;
};

class ExecutorProgram final : public Program {
 public:
  struct Parts {
    std::vector<Step> steps;
    std::vector<Tensor> constants;
    std::vector<CompiledProgramInfo::Binding> updates;
    std::vector<Location> fetches;
    CompiledProgramInfo info;
    bool takes_applier;
    int threads;
    size_t scratch_bytes = 0, thread_scratch_bytes = 0;  // The largest sizes that any kernel needs.
    int (*set_library_threads)(int count);
    decltype(ExecutorOptions::parallel) parallel;
    Denormals denormals;
  };
  explicit ExecutorProgram(Parts parts);

  Result<void> run(const StepBinding& binding) override;
  Result<void> run_on(const StepBinding& binding, RunProgress& progress) override;
  std::span<const TensorView> fetched() const override { return fetched_; }
  const CompiledProgramInfo& info() const override { return info_; }

 private:
  /// One contiguous copy of a variable or update that the caller has bound as several separate blocks of memory. The
  /// buffer is allocated when it is first needed, and then reused.
  struct Staging {
    Ref<Buffer> buffer;
    VersionId contents;  ///< For a variable: the version of the weights in the buffer.
  };

  void fix_addresses();
  void find_what_lies_in_pieces();
  void find_first_reads();
  Result<void> check(const StepBinding& binding) const;
  void bind(const StepBinding& binding);
  Result<void> bind_variable(size_t index, const StepBinding& binding);
  Result<void> begin(const StepBinding& binding);
  void scatter_update(size_t index, MutablePieces pieces) const;
  void apply_update(size_t index, UpdateApplier& applier) const;
  void find_first_update();
  Result<void> run_step(Step& step, const StepBinding& binding, UpdateApplier* applier);
  Result<void> run_kernel(Step& step, const KernelCall& call, KernelObserver* observer);

  std::vector<Step> steps_;
  std::vector<Tensor> constants_;
  std::vector<CompiledProgramInfo::Binding> updates_;
  CompiledProgramInfo info_;
  bool takes_applier_;
  int threads_;
  int (*set_library_threads_)(int count);
  decltype(ExecutorOptions::parallel) parallel_;
  Denormals denormals_;
  Ref<Buffer> arena_;
  std::byte* scratch_ = nullptr;
  ThreadScratch thread_scratch_;
  std::vector<TensorView> fetched_;
  // `address` points to a pointer within steps_, through which a kernel reads (Reader) or writes (Writer) memory that the
  // caller binds to a run. Each run sets these pointers before the first step. Pointers through which kernels read
  // variables are not in readers_, but in variable_readers_, which has a list for each variable.
  struct Reader {
    const std::byte** address;
    Location from;
  };
  struct Writer {
    std::byte** address;
    Location to;
  };
  std::vector<Reader> readers_;
  std::vector<std::vector<const std::byte**>> variable_readers_;
  std::vector<Writer> writers_;
  std::vector<std::byte*> update_data_;
  // By variable: true if all kernels that read the variable accept it in several separate blocks of memory (pieces).
  std::vector<bool> read_in_pieces_;
  std::vector<Staging> variable_staging_;
  std::vector<Staging> update_staging_;
  size_t first_update_ = 0;  // The first step that applies an update; the number of steps if none does.
};

}  // namespace shoal::backends
