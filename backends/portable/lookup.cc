// SPDX-License-Identifier: Apache-2.0
// Ops that look up elements by position. Nearly all of their time is memory traffic.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "shoal/backends/indices.h"
#include "sources.h"
#include "threads.h"
#include "vector.h"

namespace shoal::backends::portable {
namespace {

SHOAL_VECTOR_LOOP void add_row(float* to, const float* x, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] += x[i];
}

/// True if a comes before b in the order of the results: larger values first, and NaN before all numbers.
inline bool above(float a, float b) { return a > b || (std::isnan(a) && !std::isnan(b)); }

/// Keeps the k best elements so far in order. Most elements of a long row are smaller than the worst of these and are
/// skipped at once.
void top_k_row(const float* x, int64_t columns, int64_t k, float* values, int64_t* positions) {
  int64_t held = 0;
  for (int64_t c = 0; c < columns; ++c) {
    if (held == k && !above(x[c], values[k - 1])) continue;
    int64_t at = held < k ? held++ : k - 1;
    for (; at > 0 && above(x[c], values[at - 1]); --at) {
      values[at] = values[at - 1];
      positions[at] = positions[at - 1];
    }
    values[at] = x[c];
    positions[at] = c;
  }
}

class Gather final : public Kernel {
 public:
  Gather(const Shape& x, int64_t axis, size_t bytes, int threads)
      : axis_(x, axis),
        of_rows_(axis == 0),
        far_apart_(size_t(axis_.bound) * bytes >= kCacheBytes),
        bytes_(bytes),
        threads_(threads) {}
  bool takes_pieces() const override { return of_rows_; }
  std::string implementation() const override { return "portable: loop"; }

  Result<void> run(const KernelCall& call) override {
    SHOAL_TRY_VOID(check_indices(call.inputs[1], axis_.bound));
    const Indices indices(call.inputs[1]);
    std::byte* const y = call.outputs[0].data;
    const int64_t count = axis_.outer * indices.count();
    parallel_for(threads_, count, 2 * count * int64_t(bytes_), [&](int64_t begin, int64_t end) {
      const auto from = [&](int64_t i) { return place(call, i / indices.count(), indices[i % indices.count()]); };
      for (int64_t i = begin; i < end; ++i) {
        if (far_apart_ && i + kAhead < end) __builtin_prefetch(from(i + kAhead));
        std::memcpy(y + size_t(i) * bytes_, from(i), bytes_);
      }
    });
    return {};
  }

 private:
  static constexpr size_t kCacheBytes = size_t(1) << 20;
  // How many rows ahead the loop prefetches. Without prefetching, it would wait for each row of a table that is larger
  // than the caches.
  static constexpr int64_t kAhead = 12;
  const std::byte* place(const KernelCall& call, int64_t outer, int64_t index) const {
    if (!call.pieces.empty()) return row_in(call.pieces, index, bytes_);
    return call.inputs[0].data + size_t(outer * axis_.bound + index) * bytes_;
  }

  const IndexedAxis axis_;
  const bool of_rows_;
  const bool far_apart_;
  const size_t bytes_;  // The number of bytes that one index selects.
  const int threads_;
};

}  // namespace

std::unique_ptr<Kernel> make_gather(const KernelRequest& request) {
  const Shape& x = request.inputs[0].shape;
  const int64_t axis = request.node.attributes.get_int("axis");
  const size_t bytes = size_t(IndexedAxis(x, axis).inner) * size_of(request.inputs[0].dtype);
  if (bytes == 0) return nullptr;
  return std::make_unique<Gather>(x, axis, bytes, request.threads);
}

/// Each thread computes a range of the result's rows: it reads all indices in order, and adds the gradients whose index
/// lies in its range. So the order of each sum does not depend on the number of threads.
std::unique_ptr<Kernel> make_gather_grad(const KernelRequest& request) {
  const IndexedAxis axis(request.outputs[0].shape, request.node.attributes.get_int("axis"));
  const int64_t elements = request.outputs[0].shape.elements();
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_indices(call.inputs[1], axis.bound));
    const Indices indices(call.inputs[1]);
    const float* dy = floats(call.inputs[0]);
    float* dx = floats(call.outputs[0]);
    const int64_t moved = axis.outer * indices.count() * axis.inner;
    parallel_for(threads, axis.bound, (elements + 3 * moved) * int64_t(sizeof(float)), [&](int64_t begin, int64_t end) {
      for (int64_t o = 0; o < axis.outer; ++o) {
        float* table = dx + o * axis.bound * axis.inner;
        std::fill(table + begin * axis.inner, table + end * axis.inner, 0.0f);
        for (int64_t i = 0; i < indices.count(); ++i) {
          const int64_t row = indices[i];
          if (row < begin || row >= end) continue;
          add_row(table + row * axis.inner, dy + (o * indices.count() + i) * axis.inner, axis.inner);
        }
      }
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_one_hot(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const int64_t depth = attributes.get_int("depth");
  const auto on = float(attributes.get_real("on_value")), off = float(attributes.get_real("off_value"));
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_indices(call.inputs[0], depth));
    const Indices indices(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    fill(threads, off, y, indices.count() * depth);
    for (int64_t i = 0; i < indices.count(); ++i) y[i * depth + indices[i]] = on;
    return {};
  });
}

std::unique_ptr<Kernel> make_top_k(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Shape& shape = request.inputs[0].shape;
  const int64_t columns = shape[shape.rank() - 1], rows = shape.elements() / columns;
  const int64_t k = request.node.attributes.get_int("k");
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* x = floats(call.inputs[0]);
    float* values = floats(call.outputs[0]);
    int64_t* positions = reinterpret_cast<int64_t*>(call.outputs[1].data);
    parallel_for(threads, rows, rows * columns * int64_t(sizeof(float)), [=](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        top_k_row(x + row * columns, columns, k, values + row * k, positions + row * k);
      }
    });
    return {};
  });
}

std::unique_ptr<Kernel> make_top_k_grad(const KernelRequest& request) {
  if (!none_empty(request)) return nullptr;
  const Shape& shape = request.outputs[0].shape;
  const int64_t columns = shape[shape.rank() - 1], count = request.inputs[0].shape.elements();
  const int64_t k = request.node.attributes.get_int("k");
  return make_loop([=, threads = request.threads](const KernelCall& call) -> Result<void> {
    const float* dy = floats(call.inputs[0]);
    const int64_t* positions = reinterpret_cast<const int64_t*>(call.inputs[1].data);
    float* dx = floats(call.outputs[0]);
    fill(threads, 0.0f, dx, count / k * columns);
    for (int64_t i = 0; i < count; ++i) dx[i / k * columns + positions[i]] = dy[i];
    return {};
  });
}

}  // namespace shoal::backends::portable
