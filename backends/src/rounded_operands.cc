// SPDX-License-Identifier: Apache-2.0
#include "rounded_operands.h"

#include <vector>

#include "shoal/base/half.h"
#include "shoal/graph/op.h"

namespace shoal::backends {
namespace {

constexpr size_t kOperands = 2;

class RoundedOperands final : public Kernel {
 public:
  RoundedOperands(std::unique_ptr<Kernel> kernel, const KernelRequest& request)
      : kernel_(std::move(kernel)), inputs_(request.inputs.size()) {
    for (size_t i = 0; i < kOperands; ++i) {
      offsets_[i] = rounded_bytes_;
      rounded_bytes_ += align_up(size_t(request.inputs[i].shape.elements()) * sizeof(float));
    }
  }

  Result<void> run(const KernelCall& call) override {
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i] = call.inputs[i];
    for (size_t i = 0; i < kOperands; ++i) {
      auto* rounded = reinterpret_cast<float*>(call.scratch + offsets_[i]);
      round_to_bfloat16(reinterpret_cast<const float*>(call.inputs[i].data), rounded, call.inputs[i].elements());
      inputs_[i].data = call.scratch + offsets_[i];
    }
    KernelCall inner = call;
    inner.inputs = inputs_;
    inner.scratch = call.scratch + rounded_bytes_;
    return kernel_->run(inner);
  }
  size_t scratch_bytes() const override { return rounded_bytes_ + kernel_->scratch_bytes(); }
  size_t thread_scratch_bytes() const override { return kernel_->thread_scratch_bytes(); }
  bool gives_rows() const override { return kernel_->gives_rows(); }
  size_t kept_bytes() const override { return kernel_->kept_bytes(); }
  std::string implementation() const override { return kernel_->implementation() + ", operands rounded to bfloat16"; }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<TensorView> inputs_;  // Every run reuses this memory.
  size_t offsets_[kOperands];
  size_t rounded_bytes_ = 0;
};

}  // namespace

std::unique_ptr<Kernel> round_operands(std::unique_ptr<Kernel> kernel, const KernelRequest& request) {
  return std::make_unique<RoundedOperands>(std::move(kernel), request);
}

bool is_float_product(const KernelRequest& request) {
  return request.op && request.op->product && request.inputs[0].dtype == DType::kFloat32 &&
         request.inputs[1].dtype == DType::kFloat32;
}

}  // namespace shoal::backends
