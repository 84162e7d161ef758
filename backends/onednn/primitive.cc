// SPDX-License-Identifier: Apache-2.0
#include "primitive.h"

#include "openmp.h"
#include "passes.h"
#include "threads.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <algorithm>
#include <cstring>
#include <utility>

#include "shoal/base/exhaustion.h"

namespace shoal::backends::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

// set_data_handle takes mutable memory even if a primitive only reads it.
std::byte* writable(const std::byte* data) { return const_cast<std::byte*>(data); }

using Layouts = std::pair<memory::desc, memory::desc>;

/// Returns the part [begin, end) of an axis in both layouts; nothing if one of the layouts cannot describe this part.
std::optional<Layouts> part_of(const Layouts& whole, size_t axis, int64_t begin, int64_t end) {
  memory::dims part = dims_of(whole.first), offsets(part.size(), 0);
  offsets[axis] = begin;
  part[axis] = end - begin;
  const Layouts parts{whole.first.submemory_desc(part, offsets, true), whole.second.submemory_desc(part, offsets, true)};
  // get_size() == 0 cannot replace is_none() here, since get_size() is 0 for every description with an offset.
  if (is_none(parts.first) || is_none(parts.second)) return std::nullopt;
  return parts;
}

/// Divides an axis into `parts` parts, each of a multiple of `together` elements. Returns nothing if the layouts cannot
/// describe these parts.
std::vector<Layouts> parts_of(const Layouts& whole, size_t axis, int64_t together, int parts) {
  const int64_t size = dims_of(whole.first)[axis], blocks = size / together;
  std::vector<Layouts> pieces;
  for (int64_t i = 0; i < parts && blocks >= parts; ++i) {
    const int64_t end = i + 1 == parts ? size : blocks * (i + 1) / parts * together;
    std::optional<Layouts> piece = part_of(whole, axis, blocks * i / parts * together, end);
    if (!piece) return {};
    pieces.push_back(std::move(*piece));
  }
  return pieces;
}

/// Divides a change of layout into parts that can be computed at the same time.
std::vector<Layouts> divided(int threads, const Layouts& whole) {
  const int parts = team_for(threads, int64_t(whole.first.get_size() + whole.second.get_size()));
  if (parts == 1) return {whole};
  for (size_t axis = 0; axis < dims_of(whole.first).size(); ++axis) {
    for (const int64_t together : {1, 16, 64}) {  // The sizes of blocks in oneDNN's layouts.
      if (std::vector<Layouts> pieces = parts_of(whole, axis, together, parts); !pieces.empty()) return pieces;
    }
  }
  return {whole};
}

}  // namespace

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

dnnl::memory::desc plain(const Shape& shape) {
  constexpr Tag tags[] = {Tag::undef, Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde};
  return {dnnl::memory::dims(shape.dims().begin(), shape.dims().end()), kFloat, tags[shape.rank()]};
}

dnnl::memory::desc images(const Shape& shape, dnnl::memory::data_type type) {
  return {{shape[0], shape[3], shape[1], shape[2]}, type, Tag::nhwc};
}
dnnl::memory::desc kernels(const Shape& shape) { return plain(shape); }
dnnl::memory::desc kernels_any(const Shape& shape, dnnl::memory::data_type type) {
  return {{shape[0], shape[1], shape[2], shape[3]}, type, Tag::any};
}
dnnl::memory::desc grouped_kernels_any(int64_t groups, const Shape& shape, dnnl::memory::data_type type) {
  return {{groups, shape[0] / groups, shape[1], shape[2], shape[3]}, type, Tag::any};
}

Operand PrimitiveKernel::reserve_scratch(const dnnl::memory::desc& type, int64_t count) {
  const Operand place{Operand::Kind::kScratch, scratch_bytes_};
  scratch_bytes_ += size_t(count) * align_up(type.get_size());
  return place;
}

Operand PrimitiveKernel::reserve_kept(const dnnl::memory::desc& type) {
  SHOAL_CHECK(!kept_);
  kept_ = Buffer::allocate(type.get_size());
  return {Operand::Kind::kKept, 0};
}

void PrimitiveKernel::append(dnnl::primitive primitive, std::vector<Argument> arguments,
                             const dnnl::memory::desc& scratchpad) {
  if (scratchpad.get_size() > 0) {
    arguments.push_back({DNNL_ARG_SCRATCHPAD, scratchpad, reserve_scratch(scratchpad)});
  }
  Piece& piece = steps_.back().pieces.emplace_back();
  piece.primitive = std::move(primitive);
  for (const Argument& argument : arguments) {
    piece.bounds.push_back(
        {argument.operand, argument.offset_bytes, dnnl::memory(argument.type, context_.engine, nullptr)});
    piece.arguments.push_back({argument.name, piece.bounds.back().memory.get()});
  }
}

void PrimitiveKernel::add_sum(Operand parts, int64_t count, int64_t elements, Operand target) {
  steps_.emplace_back().sum = Sum{parts, target, count, elements};
}

void PrimitiveKernel::add_reorder_piece(Argument from, Argument to) {
  const dnnl::reorder::primitive_desc description(context_.engine, from.type, context_.engine, to.type, user_scratchpad());
  append(dnnl::reorder(description), {std::move(from), std::move(to)}, description.scratchpad_desc());
}

void PrimitiveKernel::add_reorder(const dnnl::memory::desc& from, Operand source, const dnnl::memory::desc& to,
                                  Operand target) {
  begin_step();
  for (const auto& [part_from, part_to] : divided(context_.threads, {from, to})) {
    add_reorder_piece({DNNL_ARG_FROM, part_from, source}, {DNNL_ARG_TO, part_to, target});
  }
}

Operand PrimitiveKernel::input_as(size_t input_index, const dnnl::memory::desc& from, const dnnl::memory::desc& to) {
  return variable_as(input_index, false, from, to);
}

Operand PrimitiveKernel::variable_as(size_t input_index, bool is_variable, const dnnl::memory::desc& from,
                                     const dnnl::memory::desc& to) {
  if (from == to) return input(input_index);
  const Operand copy = is_variable ? reserve_kept(to) : reserve_scratch(to);
  add_reorder(from, input(input_index), to, copy);
  steps_.back().once_per_version = is_variable;
  return copy;
}

std::byte* PrimitiveKernel::address(const Operand& operand, const KernelCall& call) const {
  switch (operand.kind) {
    case Operand::Kind::kInput: return writable(call.inputs[operand.index].data);
    case Operand::Kind::kOutput: return call.outputs[operand.index].data;
    case Operand::Kind::kScratch: return call.scratch + operand.index;
    case Operand::Kind::kKept: return kept_->data() + operand.index;
  }
  return nullptr;
}

Result<void> PrimitiveKernel::bind(Piece& piece, const KernelCall& call) const {
  for (Bound& bound : piece.bounds) {
    std::byte* const data = address(bound.operand, call) + bound.offset_bytes;
    if (data == bound.address) continue;
    if (dnnl_memory_set_data_handle(bound.memory.get(), data) != dnnl_success) {
      return internal_error("oneDNN refused the address of an argument of " + implementation_ + " for " + context_.shapes);
    }
    bound.address = data;
  }
  return {};
}

Result<void> PrimitiveKernel::execute(Step& step, const KernelCall& call) const {
  for (Piece& piece : step.pieces) SHOAL_TRY_VOID(bind(piece, call));
  // The pieces use one stream at the same time. That is safe, since the stream of a processor has no state.
  parallel_pieces(int(step.pieces.size()), [&](int number) {
    set_openmp_threads(1);  // OpenMP's limit holds per thread; so far it is set only on the thread that runs the program.
    Piece& piece = step.pieces[size_t(number)];
    piece.status = dnnl_primitive_execute(piece.primitive.get(), context_.stream.get(), int(piece.arguments.size()),
                                          piece.arguments.data());
    if (piece.copy && piece.status == dnnl_success) copy_rows(*piece.copy, call);
  });
  for (const Piece& piece : step.pieces) {
    if (piece.status == dnnl_success) continue;
    if (piece.status == dnnl_out_of_memory) return no_memory(0, "oneDNN's " + implementation_);
    return internal_error("oneDNN failed to execute " + implementation_ + " for " + context_.shapes + ": " +
                          dnnl_status2str(piece.status));
  }
  if (step.sum) add_up(*step.sum, call);
  return {};
}

void PrimitiveKernel::copy_rows(const RowCopy& copy, const KernelCall& call) const {
  const std::byte* from = address(copy.from, call);
  std::byte* to = address(output(0), call) + copy.offset_bytes;
  for (int64_t row = 0; row < copy.rows; ++row, from += copy.row_bytes, to += copy.stride_bytes) {
    std::memcpy(to, from, size_t(copy.row_bytes));
  }
}

/// Adds in a fixed order, so that bits depend only on the number of parts.
void PrimitiveKernel::add_up(const Sum& sum, const KernelCall& call) const {
  const float* const parts = reinterpret_cast<const float*>(address(sum.parts, call));
  float* const target = reinterpret_cast<float*>(address(sum.target, call));
  const int64_t stride = int64_t(align_up(size_t(sum.elements) * sizeof(float)) / sizeof(float));
  parallel_for(
      context_.threads, sum.elements, sum.elements * (sum.count + 1) * int64_t(sizeof(float)),
      [&](int64_t begin, int64_t end) { sum_arrays(parts + begin, sum.count, stride, end - begin, target + begin); });
}

std::string PrimitiveKernel::implementation() const {
  size_t parts = 1;
  for (const Step& step : steps_) parts = std::max(parts, step.pieces.size());
  return "onednn: " + implementation_ + (parts > 1 ? " in " + std::to_string(parts) + " parts" : "");
}

Result<void> PrimitiveKernel::run(const KernelCall& call) {
  const bool known = call.weights != VersionId{};
  const bool current = known && call.weights == kept_version_;
  for (Step& step : steps_) {
    if (step.once_per_version && current) continue;
    SHOAL_TRY_VOID(execute(step, call));
  }
  kept_version_ = call.weights;
  if (bias_.elements > 0) {
    float* y = reinterpret_cast<float*>(call.outputs[0].data);
    const float* bias = reinterpret_cast<const float*>(call.inputs[bias_.input].data);
    add_bias(context_.threads, bias, bias_.channels, y, bias_.elements);
  }
  if (relu_elements_ > 0) {
    float* y = reinterpret_cast<float*>(call.outputs[0].data);
    relu(context_.threads, y, y, relu_elements_);
  }
  return {};
}

}  // namespace shoal::backends::onednn
