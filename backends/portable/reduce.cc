// SPDX-License-Identifier: Apache-2.0
// Sums, means, maxima, argmax. (oneDNN's reduction over rows is reference code, 330 times slower than a loop.)
#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "shoal/graph/axes.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::portable {

std::unique_ptr<Kernel> make_bias_grad(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const int64_t columns = request.outputs[0].shape[0];
  const int64_t rows = columns == 0 ? 0 : request.inputs[0].shape.elements() / columns;
  const size_t scratch = row_blocks(rows) > 1 ? size_t(row_blocks(rows) * columns) * sizeof(float) : 0;
  auto run = [=, threads = request.threads](const KernelCall& call) -> Result<void> {
    sum_rows(threads, floats(call.inputs[0]), rows, columns, floats(call.outputs[0]),
             reinterpret_cast<float*>(call.scratch));
    return {};
  };
  return make_loop(run, scratch);
}

namespace {

/// A pass over [outer, rows, columns] that reduces `rows`.
struct Stage {
  int64_t outer, rows, columns;
  int64_t elements() const { return outer * columns; }
};

/// The passes of a reduction, innermost axes first. Axes of size 1 are ignored, and neighbouring axes that are both reduced
/// or both kept are joined, so almost all reductions need only one pass.
std::vector<Stage> stages_of(const Shape& shape, const std::vector<bool>& reduced) {
  struct Run {
    int64_t count;
    bool reduced;
  };
  std::vector<Run> runs;
  auto append = [&runs](Run run) {
    if (run.count == 1) return;
    if (!runs.empty() && runs.back().reduced == run.reduced) {
      runs.back().count *= run.count;
    } else {
      runs.push_back(run);
    }
  };
  for (int axis = 0; axis < shape.rank(); ++axis) append({shape[axis], reduced[size_t(axis)]});
  std::vector<Stage> stages;
  int64_t columns = 1;
  int64_t before = shape.elements();
  for (size_t i = runs.size(); i-- > 0;) {
    before /= runs[i].count;
    if (runs[i].reduced) {
      stages.push_back({before, runs[i].count, columns});
    } else {
      columns *= runs[i].count;
    }
  }
  if (stages.empty()) stages.push_back({1, 1, shape.elements()});  // If no axis is reduced, one pass copies x.
  return stages;
}

enum class Reduction : uint8_t { kSum, kMean, kMax };

size_t partial_floats(const Stage& stage) {
  const int64_t blocks = row_blocks(stage.rows);
  return stage.columns == 1 || blocks <= 1 ? 0 : size_t(stage.outer * blocks * stage.columns);
}

void run_stage(int threads, Reduction reduction, const Stage& stage, const float* x, float* y, float* partial) {
  if (reduction == Reduction::kMax) {
    if (stage.columns == 1) return max_columns(threads, x, stage.outer, stage.rows, y);
    return max_middle(threads, x, stage.outer, stage.rows, stage.columns, y);
  }
  if (stage.columns == 1) return sum_columns(threads, x, stage.outer, stage.rows, y);
  sum_middle(threads, x, stage.outer, stage.rows, stage.columns, y, partial);
}

std::unique_ptr<Kernel> reduce(int threads, Reduction reduction, const Shape& shape, const std::vector<bool>& reduced) {
  std::vector<Stage> stages = stages_of(shape, reduced);
  // The numbers of floats in the two parts of the scratch memory: partial sums; results of all passes but the last.
  size_t partial = 0, between = 0;
  for (const Stage& stage : stages) partial = std::max(partial, partial_floats(stage));
  for (size_t i = 0; i + 1 < stages.size(); ++i) between += size_t(stages[i].elements());
  const float divisor = float(shape.elements() / stages.back().elements());
  auto run = [=, stages = std::move(stages)](const KernelCall& call) -> Result<void> {
    float* sums = reinterpret_cast<float*>(call.scratch);
    const float* x = floats(call.inputs[0]);
    float* next = sums + partial;
    for (const Stage& stage : stages) {
      float* y = &stage == &stages.back() ? floats(call.outputs[0]) : next;
      run_stage(threads, reduction, stage, x, y, sums);
      x = y;
      next += stage.elements();
    }
    float* y = floats(call.outputs[0]);
    if (reduction == Reduction::kMean) divide(threads, y, divisor, y, stages.back().elements());
    return {};
  };
  return make_loop(std::move(run), (partial + between) * sizeof(float));
}

}  // namespace

std::unique_ptr<Kernel> make_reduce(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  std::vector<bool> reduced(size_t(shape.rank()));
  for (int64_t axis : reduced_axes(request.node.attributes, shape.rank())) reduced[size_t(axis)] = true;
  const std::string& op = request.node.op;
  const Reduction reduction = op == "reduce_max"    ? Reduction::kMax
                              : op == "reduce_mean" ? Reduction::kMean
                                                    : Reduction::kSum;
  return reduce(request.threads, reduction, shape, reduced);
}

std::unique_ptr<Kernel> make_sum_like(const KernelRequest& request) {
  if (!all_float32(request) || !none_empty(request)) return nullptr;
  const Shape &shape = request.inputs[0].shape, &like = request.outputs[0].shape;
  std::vector<bool> reduced(size_t(shape.rank()), true);
  for (int axis = 0; axis < like.rank(); ++axis) {
    const int at = axis + shape.rank() - like.rank();
    reduced[size_t(at)] = like[axis] != shape[at];
  }
  return reduce(request.threads, Reduction::kSum, shape, reduced);
}

std::unique_ptr<Kernel> make_argmax(const KernelRequest& request) {
  if (request.inputs[0].dtype != DType::kFloat32 || !none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const Attributes& attributes = request.node.attributes;
  const int axis = attributes.has("axis") ? int(attributes.get_int("axis")) : shape.rank() - 1;
  const int64_t length = shape[axis], rows = shape.elements() / length;
  int64_t step = 1;  // The distance between neighbours along the axis.
  for (int a = axis + 1; a < shape.rank(); ++a) step *= shape[a];
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    int64_t* y = reinterpret_cast<int64_t*>(call.outputs[0].data);
    parallel_for(threads, rows, rows * length * int64_t(sizeof(float)), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const float* values = x + row / step * length * step + row % step;
        float highest = values[0];
        int64_t best = 0;
        for (int64_t i = 1; i < length; ++i) {
          // A value that is not <= highest is larger or NaN. NaN counts as the largest; the first NaN stays the highest.
          const float value = values[i * step];
          if (value <= highest || std::isnan(highest)) continue;
          highest = value;
          best = i;
        }
        y[row] = best;
      }
    });
    return {};
  });
}

}  // namespace shoal::backends::portable
