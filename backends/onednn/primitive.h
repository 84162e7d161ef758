// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Kernels made of oneDNN primitives, ready to execute: arguments are laid out when the program is compiled, a run only
/// exchanges addresses that changed.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dnnl_shim.h"
#include "shoal/backends/kernel.h"

namespace shoal::backends::onednn {

/// What a kernel is made with. The engine and the stream are shared by all.
struct Context {
  dnnl::engine engine;
  dnnl::stream stream;
  int threads;
  std::string shapes = {};  ///< The shapes of the node, for errors.
  /// What products multiply, f32 or bf16; sums, and so results, are f32.
  dnnl::memory::data_type factors = dnnl::memory::data_type::f32;
};

inline constexpr auto kFloat = dnnl::memory::data_type::f32;

/// Scratchpads belong to the caller everywhere: oneDNN's own are thread-local, and a primitive created on one thread and
/// run on another one has crashed (2.6.3).
dnnl::primitive_attr user_scratchpad();

/// A dense row-major matrix or array of oneDNN's.
dnnl::memory::desc plain(const Shape& shape);
/// An image batch [N,H,W,C] or a kernel [O,I,KH,KW]; oneDNN names dimensions in the order N,C,H,W either way.
dnnl::memory::desc images(const Shape& shape, dnnl::memory::data_type type = kFloat);
dnnl::memory::desc kernels(const Shape& shape);
/// The same with a layout that the primitive chooses.
dnnl::memory::desc kernels_any(const Shape& shape, dnnl::memory::data_type type = kFloat);
/// The same for a kernel [O,I/groups,KH,KW] in several groups, which oneDNN sees as [groups,O/groups,I/groups,KH,KW].
dnnl::memory::desc grouped_kernels_any(int64_t groups, const Shape& shape, dnnl::memory::data_type type = kFloat);

/// Where an argument's memory comes from.
struct Operand {
  enum class Kind : uint8_t { kInput, kOutput, kScratch, kKept };
  Kind kind;
  size_t index;  ///< Index of the input or output, or byte offset into scratch or kept memory.
};
inline Operand input(size_t index) { return {Operand::Kind::kInput, index}; }
inline Operand output(size_t index) { return {Operand::Kind::kOutput, index}; }

struct Argument {
  int name;  ///< An index of oneDNN's, such as DNNL_ARG_SRC.
  dnnl::memory::desc type;
  Operand operand;
  int64_t offset_bytes = 0;  ///< Where it begins in the operand's memory.
};

/// A sequence of steps, each of one primitive or of several that are run beside each other: those of oneDNN compute on one
/// thread here, so what is worth several is divided into pieces. Assembled by add...(), then run.
class PrimitiveKernel final : public Kernel {
 public:
  explicit PrimitiveKernel(const Context& context) : context_(context) {}

  /// Output 0 becomes max(output 0, 0) at the end of a run. A pass of our own, since oneDNN's fused one turns NaN into 0:
  /// fusing may not change bits, and a NaN must reach the loss.
  void relu_after(int64_t elements) { relu_elements_ = elements; }

  /// Adds bias[c], input `input_index`, to each element of channel c of output 0, before a relu.
  void bias_after(size_t input_index, int64_t channels, int64_t elements) { bias_ = {input_index, channels, elements}; }

  /// Room for a value between primitives, in the scratch memory or kept over runs.
  Operand reserve_scratch(const dnnl::memory::desc& type, int64_t count = 1);
  Operand reserve_kept(const dnnl::memory::desc& type);  // To be called once.

  /// Appends a step of one primitive. `description` is its primitive_desc: scratchpad and name come from it.
  template <class Primitive>
  void add(const typename Primitive::primitive_desc& description, std::vector<Argument> arguments) {
    steps_.emplace_back();
    add_piece<Primitive>(description, std::move(arguments));
  }
  /// Adds to the last step, which is empty after begin_step(), a primitive that writes nothing that its other pieces
  /// touch.
  void begin_step() { steps_.emplace_back(); }
  template <class Primitive>
  void add_piece(const typename Primitive::primitive_desc& description, std::vector<Argument> arguments) {
    if (implementation_.empty()) implementation_ = description.impl_info_str();
    append(Primitive(description), std::move(arguments), description.scratchpad_desc());
  }
  /// A copy of rows that lie one behind the other in `from` to places of output 0 that are further apart.
  struct RowCopy {
    Operand from;
    int64_t offset_bytes;  ///< Where the first row lies in output 0.
    int64_t rows, row_bytes, stride_bytes;
  };
  /// Copies after the last piece of the last step, on the thread that has computed it.
  void copy_after_piece(const RowCopy& copy) { steps_.back().pieces.back().copy = copy; }
  /// Appends a sum: `count` arrays of `elements` floats, one behind the other at `parts`, each align_up()ed, become one.
  void add_sum(Operand parts, int64_t count, int64_t elements, Operand target);
  /// Adds to the last step a change of layout, for which a kernel is not named.
  void add_reorder_piece(Argument from, Argument to);
  /// Appends a change of layout.
  void add_reorder(const dnnl::memory::desc& from, Operand source, const dnnl::memory::desc& to, Operand target);
  /// Input `input_index` (type `from`) in type and layout `to`: itself if that is what it is, else a copy made by each run.
  Operand input_as(size_t input_index, const dnnl::memory::desc& from, const dnnl::memory::desc& to);
  /// The same, but what is made of a variable is kept until its version changes. Serves one input of a kernel.
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
    const std::byte* address = nullptr;  // The address that it points to now.
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

/// True if oneDNN has an implementation worth taking: its reference loops lose to anybody's.
template <class Description>
bool usable(const Description& description) {
  if (!description) return false;
  return std::string(description.impl_info_str()).rfind("ref", 0) != 0;
}

}  // namespace shoal::backends::onednn
