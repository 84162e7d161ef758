// SPDX-License-Identifier: Apache-2.0
// Clipping of elements, and norms. oneDNN's clip turns NaN into a limit, and oneDNN has no norm of several tensors.
#include <algorithm>
#include <cmath>
#include <vector>

#include "sources.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

SHOAL_VECTOR_LOOP void clip_range(const float* x, float low, float high, float* y, int64_t begin, int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    const float raised = x[i] < low ? low : x[i];
    y[i] = raised > high ? high : raised;  // NaN stays NaN.
  }
}

SHOAL_VECTOR_LOOP void clip_grad_range(const float* dy, const float* x, float low, float high, float* dx, int64_t begin,
                                       int64_t end) {
  SHOAL_INDEPENDENT
  for (int64_t i = begin; i < end; ++i) {
    const float below_high = x[i] > high ? 0.0f : dy[i];
    dx[i] = x[i] < low ? 0.0f : below_high;
  }
}

SHOAL_VECTOR_LOOP double sum_of_squares(const float* x, int64_t count) {
  constexpr int kLanes = 16;
  double lanes[kLanes] = {};
  int64_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (int lane = 0; lane < kLanes; ++lane) lanes[lane] += double(x[i + lane]) * double(x[i + lane]);
  }
  for (int lane = 0; i < count; ++i, ++lane) lanes[lane] += double(x[i]) * double(x[i]);
  for (int width = kLanes / 2; width > 0; width /= 2) {
    for (int lane = 0; lane < width; ++lane) lanes[lane] += lanes[lane + width];
  }
  return lanes[0];
}

/// The elements that one thread sums at a time. The order of sums depends on these blocks only.
struct Block {
  size_t input;
  int64_t begin, count;
};
constexpr int64_t kBlockElements = 16384;

std::vector<Block> blocks_of(const KernelRequest& request) {
  std::vector<Block> blocks;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const int64_t count = request.inputs[i].shape.elements();
    for (int64_t begin = 0; begin < count; begin += kBlockElements) {
      blocks.push_back({i, begin, std::min(kBlockElements, count - begin)});
    }
  }
  return blocks;
}

}  // namespace

std::unique_ptr<Kernel> make_clip(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  const auto low = float(request.node.attributes.get_real("low")), high = float(request.node.attributes.get_real("high"));
  const int threads = request.threads;
  if (request.node.op == "clip_grad") {
    return make_loop([=](const KernelCall& call) -> Result<void> {
      const float *dy = floats(call.inputs[0]), *x = floats(call.inputs[1]);
      float* dx = floats(call.outputs[0]);
      parallel_for(threads, count, 3 * int64_t(sizeof(float)) * count,
                   [=](int64_t begin, int64_t end) { clip_grad_range(dy, x, low, high, dx, begin, end); });
      return {};
    });
  }
  return make_loop([=](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    parallel_for(threads, count, 2 * int64_t(sizeof(float)) * count,
                 [=](int64_t begin, int64_t end) { clip_range(x, low, high, y, begin, end); });
    return {};
  });
}

std::unique_ptr<Kernel> make_global_norm(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  std::vector<Block> blocks = blocks_of(request);
  const size_t scratch = blocks.size() * sizeof(double);
  auto run = [blocks = std::move(blocks), threads = request.threads](const KernelCall& call) -> Result<void> {
    auto* sums = reinterpret_cast<double*>(call.scratch);
    const auto count = int64_t(blocks.size());
    parallel_for(threads, count, count * kBlockElements * int64_t(sizeof(float)), [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const Block& block = blocks[size_t(i)];
        sums[i] = sum_of_squares(floats(call.inputs[block.input]) + block.begin, block.count);
      }
    });
    double sum = 0;
    for (int64_t i = 0; i < count; ++i) sum += sums[i];
    *floats(call.outputs[0]) = float(std::sqrt(sum));
    return {};
  };
  return make_loop(std::move(run), scratch);
}

}  // namespace shoal::backends::portable
