// SPDX-License-Identifier: Apache-2.0
/// The backend "reference": its table of kernels and the factory of the plug-in.
#include "shoal/backends/reference.h"

#include <cstring>
#include <map>

#include "loops.h"
#include "shoal/base/cpu.h"
#include "shoal/base/environment.h"
#include "shoal/base/forever.h"

namespace shoal::backends {
namespace reference {
namespace {

class LoopKernel final : public Kernel {
 public:
  LoopKernel(Loop loop, size_t scratch_bytes, const char* implementation)
      : loop_(std::move(loop)), scratch_bytes_(scratch_bytes), implementation_(implementation) {}
  Result<void> run(const KernelCall& call) override { return loop_(call); }
  size_t scratch_bytes() const override { return scratch_bytes_; }
  std::string implementation() const override { return implementation_; }

 private:
  Loop loop_;
  size_t scratch_bytes_;
  const char* implementation_;
};

/// A user's own op, called through call_user().
std::unique_ptr<Kernel> make_user_kernel(const KernelRequest& request) {
  if (!request.op || !request.op->kernel) return nullptr;
  const bool random = request.op->random;
  auto loop = [kernel = request.op->kernel, attributes = request.node.attributes, seed = request.graph_seed,
               random](const KernelCall& call) -> Result<void> {
    const RandomKey sequence =
        random ? random_sequence(seed, attributes.get_int("key"), call.key.trainer, call.key.ordinal) : RandomKey{0};
    const OpCall op_call{.inputs = call.inputs, .outputs = call.outputs, .attributes = attributes, .sequence = sequence};
    auto entered = call_user("the kernel of a user's own op", [&] { return kernel(op_call); });
    if (!entered) return std::move(entered).error();
    return std::move(entered).value();
  };
  return std::make_unique<LoopKernel>(std::move(loop), 0, "reference: user");
}

/// Executors resolve views themselves; this kernel serves callers that do not.
std::unique_ptr<Kernel> make_view(const KernelRequest&) {
  return make_loop([](const KernelCall& call) -> Result<void> {
    if (const size_t bytes = call.inputs[0].bytes(); bytes > 0)
      std::memcpy(call.outputs[0].data, call.inputs[0].data, bytes);
    return {};
  });
}

class Source final : public KernelSource {
 public:
  Source() {
    const AddMaker add = [this](std::string_view op, Maker maker) { SHOAL_CHECK(makers_.emplace(op, maker).second); };
    add_dense(add);
    add_conv2d(add);
    add_pool(add);
    add_clipping(add);
    add_elementwise(add);
    add_binary(add);
    add_unary(add);
    add_softmax(add);
    add_reduce(add);
    add_integer(add);
    add_recurrent(add);
    add_attention(add);
    add_arrange(add);
    add_lookup(add);
    add_inputs(add);
    add_matmul(add);
    add_norm(add);
    for (const char* view : {"flatten", "reshape", "reshape_like", "stop_gradient", "recompute_from"}) add(view, make_view);
  }
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) override {
    const auto found = makers_.find(request.node.op);
    return found == makers_.end() ? make_user_kernel(request) : found->second(request);
  }

 private:
  std::map<std::string, Maker, std::less<>> makers_;
};

class ReferenceBackend final : public Backend {
 public:
  std::string_view name() const override { return "reference"; }
  Result<std::unique_ptr<Program>> compile(const Graph& graph, CompileOptions options) override {
    SHOAL_TRY_VOID(check_compute_dtype(options.compute_dtype));
    const ExecutorOptions executor{.sources = {&reference_source()}, .numerics = numerics(options.threads)};
    return compile_with(graph, std::move(options), executor);
  }
  /// Reports one thread, whatever number is requested: kernels use one, so all numbers of threads give the same results.
  Numerics numerics(int) const override {
    return {.backend = "reference", .version = "2", .isa = isa(), .threads = 1, .denormals = Denormals::kKept};
  }
  KernelSource* kernel_source() override { return &reference_source(); }
  /// bfloat16 is emulated: operands are rounded, and the float32 kernels compute the products.
  Result<void> check_compute_dtype(DType dtype) const override {
    return dtype == DType::kBFloat16 ? Result<void>() : Backend::check_compute_dtype(dtype);
  }

 private:
  static const char* isa() {
#if defined(__x86_64__)
    return "x86-64";
#elif defined(__aarch64__)
    return "arm64";
#elif defined(__arm__)
    return "arm";
#elif defined(__riscv)
    return "riscv";
#else
    return "generic";
#endif
  }
};

}  // namespace

std::unique_ptr<Kernel> make_loop(Loop loop, size_t scratch_bytes) {
  return std::make_unique<LoopKernel>(std::move(loop), scratch_bytes, "reference");
}

}  // namespace reference

KernelSource& reference_source() {
  static auto& source = forever(reference::Source{});
  return source;
}

std::unique_ptr<Backend> make_reference_backend() { return std::make_unique<reference::ReferenceBackend>(); }

}  // namespace shoal::backends
