// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels made of oneDNN primitives that are ready to execute: arguments are laid out when the program is compiled, and a
/// run only replaces the addresses that have changed.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dnnl_shim.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::onednn {

/// The context in which a kernel is made. All kernels share the engine and the stream.
struct Context {
  dnnl::engine engine;
  dnnl::stream stream;
  int threads;
  std::string shapes = {};  ///< The shapes of the node, for errors.
  /// The type of the factors of products, f32 or bf16. Sums, and so results, are f32.
  dnnl::memory::data_type factors = dnnl::memory::data_type::f32;
};

inline constexpr auto kFloat = dnnl::memory::data_type::f32;

/// Makes scratchpads belong to the caller: oneDNN's own are thread-local, and a primitive created on one thread and run on
/// another has crashed (2.6.3).
dnnl::primitive_attr user_scratchpad();

/// A dense row-major matrix or array in oneDNN's terms.
dnnl::memory::desc plain(const Shape& shape);
/// An image batch [N,H,W,C] or a kernel [O,I,KH,KW]; oneDNN lists dimensions in the order N,C,H,W in both cases.
dnnl::memory::desc images(const Shape& shape, dnnl::memory::data_type type = kFloat);
dnnl::memory::desc kernels(const Shape& shape);
/// A kernel with a layout that the primitive chooses.
dnnl::memory::desc kernels_any(const Shape& shape, dnnl::memory::data_type type = kFloat);
/// As kernels_any(), for a kernel [O,I/groups,KH,KW] in several groups, which oneDNN describes as
/// [groups,O/groups,I/groups,KH,KW].
dnnl::memory::desc grouped_kernels_any(int64_t groups, const Shape& shape, dnnl::memory::data_type type = kFloat);

/// The memory of an argument.
struct Operand {
  enum class Kind : uint8_t { kInput, kOutput, kScratch, kKept };
  Kind kind;
  size_t index;  ///< Index of the input or output, or byte offset in scratch memory or memory kept between runs.
};
inline Operand input(size_t index) { return {Operand::Kind::kInput, index}; }
inline Operand output(size_t index) { return {Operand::Kind::kOutput, index}; }

struct Argument {
  int name;  ///< oneDNN's index of the argument, such as DNNL_ARG_SRC.
  dnnl::memory::desc type;
  Operand operand;
  int64_t offset_bytes = 0;  ///< Where the argument begins in the operand's memory.
};

/// A sequence of steps. A oneDNN primitive computes on one thread here, so a large computation is divided into several
/// primitives (pieces), which one step runs at the same time. Assemble the steps with add...(), then call run().
class PrimitiveKernel final : public Kernel {
 public:
  explicit PrimitiveKernel(const Context& context) : context_(context) {}

  /// Applies max(output 0, 0) at the end of a run. This is a separate pass, since oneDNN's fused relu turns NaN into 0:
  /// fusing may not change bits, and a NaN must reach the loss.
  void relu_after(int64_t elements) { relu_elements_ = elements; }

  /// Adds bias[c], from input `input_index`, to each element of channel c of output 0, before a relu.
  void bias_after(size_t input_index, int64_t channels, int64_t elements) { bias_ = {input_index, channels, elements}; }

  /// Reserves scratch memory for a value that one primitive writes and another reads.
  Operand reserve_scratch(const dnnl::memory::desc& type, int64_t count = 1);
  /// As reserve_scratch(), but the memory keeps its contents between runs. Call it at most once.
  Operand reserve_kept(const dnnl::memory::desc& type);

  /// Appends a step with one primitive. `description` is the primitive's primitive_desc: the
  /// size of the scratchpad and the kernel's name come from there.
  template <class Primitive>
  void add(const typename Primitive::primitive_desc& description, std::vector<Argument> arguments) {
    steps_.emplace_back();
    add_piece<Primitive>(description, std::move(arguments));
  }
  /// begin_step() appends an empty step; add_piece() adds a primitive to the last step. A piece must not write memory that
  /// other pieces of its step use.
  void begin_step() { steps_.emplace_back(); }
  template <class Primitive>
  void add_piece(const typename Primitive::primitive_desc& description, std::vector<Argument> arguments) {
    if (implementation_.empty()) implementation_ = description.impl_info_str();
    append(Primitive(description), std::move(arguments), description.scratchpad_desc());
  }
  /// A copy of rows that are contiguous in `from` to places in output 0 that are further apart.
  struct RowCopy {
    Operand from;
    int64_t offset_bytes;  ///< Where the first row begins in output 0.
    int64_t rows, row_bytes, stride_bytes;
  };
  /// Appends `copy` to the last piece of the last step: the thread that computes the piece then copies the rows.
  void copy_after_piece(const RowCopy& copy) { steps_.back().pieces.back().copy = copy; }
  /// Appends a sum of `count` arrays of `elements` floats, which is written to `target`. The arrays begin at `parts`, one
  /// after the other, and each takes align_up() of its size.
  void add_sum(Operand parts, int64_t count, int64_t elements, Operand target);
  /// Adds a primitive that changes a layout to the step that was appended last. The kernel's name (implementation()) does
  /// not mention this primitive.
  void add_reorder_piece(Argument from, Argument to);
  /// Appends a step that converts `source`, with layout `from`, to layout `to` and writes the result to `target`.
  void add_reorder(const dnnl::memory::desc& from, Operand source, const dnnl::memory::desc& to, Operand target);
  /// Returns input `input_index`, converted from type and layout `from` to type and layout `to`: the input itself if these
  /// are equal, else a copy that each run makes.
  Operand input_as(size_t input_index, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  /// As input_as(), but the copy of a variable is kept until the variable's version changes. Call it for one input at most.
  Operand variable_as(size_t input_index, bool is_variable, const dnnl::memory::desc& from, const dnnl::memory::desc& to);

  Result<void> run(const KernelCall& call) override;
  size_t scratch_bytes() const override { return scratch_bytes_; }
  size_t kept_bytes() const override { return kept_ ? kept_->size() : 0; }
  std::string implementation() const override;

 private:
  struct Bound {
    Operand operand;
    int64_t offset_bytes;
    dnnl::memory memory;
    const std::byte* address = nullptr;  // The address that `memory` has at present.
  };
  struct Piece {
    dnnl::primitive primitive;
    std::vector<Bound> bounds;
    std::vector<dnnl_exec_arg_t> arguments;
    std::optional<RowCopy> copy;
    dnnl_status_t status = dnnl_success;
  };
  struct Sum {
    Operand parts, target;
    int64_t count = 0, elements = 0;
  };
  struct Step {
    std::vector<Piece> pieces;
    std::optional<Sum> sum;
    bool once_per_version = false;
  };
  void append(dnnl::primitive primitive, std::vector<Argument> arguments, const dnnl::memory::desc& scratchpad);
  std::byte* address(const Operand& operand, const KernelCall& call) const;
  Result<void> bind(Piece& piece, const KernelCall& call) const;
  Result<void> execute(Step& step, const KernelCall& call) const;
  void copy_rows(const RowCopy& copy, const KernelCall& call) const;
  void add_up(const Sum& sum, const KernelCall& call) const;

  Context context_;
  std::vector<Step> steps_;
  std::string implementation_;
  size_t scratch_bytes_ = 0;
  int64_t relu_elements_ = 0;
  struct Bias {
    size_t input = 0;
    int64_t channels = 0;
    int64_t elements = 0;
  } bias_;
  Ref<Buffer> kept_;
  VersionId kept_version_;
};

/// True if oneDNN has a fast implementation. Its reference loops are slower than those of the other backends.
template <class Description>
bool usable(const Description& description) {
  if (!description) return false;
  return std::string(description.impl_info_str()).rfind("ref", 0) != 0;
}

}  // namespace shoal::backends::onednn
