#include "primitive.h"

#include "loops.h"

#include <oneapi/dnnl/dnnl_debug.h>

#include <utility>

namespace shoal::backends::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

// set_data_handle wants mutable memory, also for what a primitive only reads.
void* writable(const std::byte* data) { return const_cast<std::byte*>(data); }

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

Operand PrimitiveKernel::reserve_scratch(const dnnl::memory::desc& type) {
  const Operand place{Operand::Kind::kScratch, scratch_bytes_};
  scratch_bytes_ += align_up(type.get_size());
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
  Step step;
  step.primitive = std::move(primitive);
  for (const Argument& argument : arguments) {
    step.operands.push_back(argument.operand);
    step.memories.emplace_back(argument.type, context_.engine, nullptr);
    step.arguments.push_back({argument.name, step.memories.back().get()});
    step.bound.push_back(nullptr);
  }
  steps_.push_back(std::move(step));
}

void PrimitiveKernel::add_reorder(const dnnl::memory::desc& from, Operand source, const dnnl::memory::desc& to,
                                  Operand target) {
  const dnnl::reorder::primitive_desc description(context_.engine, from, context_.engine, to, user_scratchpad());
  append(dnnl::reorder(description), {{DNNL_ARG_FROM, from, source}, {DNNL_ARG_TO, to, target}},
         description.scratchpad_desc());
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

const std::byte* PrimitiveKernel::address(const Operand& operand, const KernelCall& call) const {
  switch (operand.kind) {
    case Operand::Kind::kInput: return call.inputs[operand.index].data;
    case Operand::Kind::kOutput: return call.outputs[operand.index].data;
    case Operand::Kind::kScratch: return call.scratch + operand.index;
    case Operand::Kind::kKept: return kept_->data() + operand.index;
  }
  return nullptr;
}

Result<void> PrimitiveKernel::execute(Step& step, const KernelCall& call) const {
  for (size_t i = 0; i < step.operands.size(); ++i) {
    const std::byte* data = address(step.operands[i], call);
    if (data == step.bound[i]) continue;
    if (dnnl_memory_set_data_handle(step.memories[i].get(), writable(data)) != dnnl_success) {
      return internal_error("oneDNN refused the address of an argument of " + implementation_ + " for " + context_.shapes);
    }
    step.bound[i] = data;
  }
  const dnnl_status_t status = dnnl_primitive_execute(step.primitive.get(), context_.stream.get(),
                                                      int(step.arguments.size()), step.arguments.data());
  if (status != dnnl_success) {
    return internal_error("oneDNN failed to execute " + implementation_ + " for " + context_.shapes + ": " +
                          dnnl_status2str(status));
  }
  return {};
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
