// SPDX-License-Identifier: Apache-2.0
// The oneDNN backend: it computes convolutions and matrix products by oneDNN. Nodes that it does not support fall back to
// portable, and then to the reference, op by op.
#include <map>
#include <string>
#include <utility>

#include "dnnl_shim.h"
#include "guarded.h"
#include "openmp.h"
#include "shoal/backends/backend.h"
#include "shoal/backends/kernel.h"
#include "shoal/backends/portable.h"
#include "shoal/backends/reference.h"
#include "shoal/base/forever.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends {
namespace onednn {
namespace {

/// Makes oneDNN's cache of primitives before any variable of the user's is constructed, so that it is destroyed after all
/// of them: a model in such a variable may still compute while the program exits.
__attribute__((constructor(101))) void make_primitive_cache_first() {
  int capacity = 0;
  static_cast<void>(dnnl_get_primitive_cache_capacity(&capacity));
}

const std::map<std::string, KernelMaker, std::less<>>& makers() {
  static const auto& table = forever(std::map<std::string, KernelMaker, std::less<>>{
      {"dense", &make_dense},
      {"dense_grad_input", &make_dense_grad_input},
      {"dense_grad_kernel", &make_dense_grad_kernel},
      {"conv2d", &make_conv2d},
      {"conv2d_grad_input", &make_conv2d_grad_input},
      {"conv2d_grad_kernel", &make_conv2d_grad_kernel},
      {"conv2d_transpose", &make_conv2d_grad_input},
      {"matmul", &make_matmul},
      {"matmul_sum", &make_matmul_sum},
  });
  return table;
}

class Source final : public KernelSource {
 public:
  Result<std::unique_ptr<Kernel>> make_kernel(const KernelRequest& request) override {
    return make(request, dnnl::memory::data_type::f32);
  }
  Result<std::unique_ptr<Kernel>> make_bfloat16_kernel(const KernelRequest& request) override {
    return make(request, dnnl::memory::data_type::bf16);
  }

 private:
  Result<std::unique_ptr<Kernel>> make(const KernelRequest& request, dnnl::memory::data_type factors) {
    const auto maker = makers().find(request.node.op);
    if (maker == makers().end()) return nullptr;
    return guarded([&]() -> std::unique_ptr<Kernel> {
      if (!engine_) engine_ = dnnl::engine(dnnl::engine::kind::cpu, 0);
      if (!stream_) stream_ = dnnl::stream(engine_);
      return maker->second({engine_, stream_, request.threads, shapes_of(request), factors}, request);
    });
  }

  dnnl::engine engine_;  // Made with the first kernel, as is the stream, since a failure can be returned then.
  dnnl::stream stream_;
};

std::string isa_name() {
  switch (dnnl::get_effective_cpu_isa()) {
#if defined(__x86_64__)
    case dnnl::cpu_isa::sse41: return "sse4.1";
    case dnnl::cpu_isa::avx: return "avx";
    case dnnl::cpu_isa::avx2: return "avx2";
    case dnnl::cpu_isa::avx2_vnni: return "avx2-vnni";
    case dnnl::cpu_isa::avx512_core: return "avx512-core";
    case dnnl::cpu_isa::avx512_core_vnni: return "avx512-core-vnni";
    case dnnl::cpu_isa::avx512_core_bf16: return "avx512-core-bf16";
    case dnnl::cpu_isa::avx512_core_amx: return "avx512-core-amx";
#endif
    default: return "isa-" + std::to_string(int(dnnl::get_effective_cpu_isa()));
  }
}

/// Whether the processor multiplies bfloat16. If not, oneDNN emulates some products, four times slower than float32.
bool multiplies_bfloat16() {
#if defined(__x86_64__)
  constexpr unsigned kNeeded = unsigned(dnnl::cpu_isa::avx512_core_bf16);
  return (unsigned(dnnl::get_effective_cpu_isa()) & kNeeded) == kNeeded;
#else
  return false;  // bfloat16 has not been tried yet on other kinds of processors.
#endif
}

std::string version_name() {
  const dnnl_version_t* version = dnnl_version();
  return std::to_string(version->major) + "." + std::to_string(version->minor) + "." + std::to_string(version->patch);
}

class OnednnBackend final : public Backend {
 public:
  std::string_view name() const override { return "onednn"; }

  Result<std::unique_ptr<Program>> compile(const Graph& graph, CompileOptions options) override {
    SHOAL_TRY_VOID(check_compute_dtype(options.compute_dtype));
    const ExecutorOptions executor{.sources = {&source_, &portable_source(), &reference_source()},
                                   .numerics = numerics(options.threads),
                                   .set_library_threads = &set_openmp_threads,
                                   .parallel = &detail::parallel_ranges,
                                   .worth = &worth_threads};
    return compile_with(graph, std::move(options), executor);
  }

  Numerics numerics(int threads) const override {
    return {.backend = "onednn", .version = version_name(), .isa = isa_name(), .threads = threads};
  }
  KernelSource* kernel_source() override { return &source_; }
  Result<void> check_compute_dtype(DType dtype) const override {
    if (dtype != DType::kBFloat16) return Backend::check_compute_dtype(dtype);
    if (multiplies_bfloat16()) return {};
    return failed_precondition("backend \"onednn\": this processor (" + isa_name() +
                               ") has no bfloat16 products; compute in float32, or, slowly, with the backend "
                               "\"reference\", which emulates them");
  }

 private:
  Source source_;
};

}  // namespace
}  // namespace onednn

std::unique_ptr<Backend> make_onednn_backend() { return std::make_unique<onednn::OnednnBackend>(); }

}  // namespace shoal::backends
