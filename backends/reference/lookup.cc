// SPDX-License-Identifier: Apache-2.0
// Ops that look up elements by position.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>

#include "loops.h"
#include "shoal/backends/indices.h"
#include "shoal/graph/ops_lookup.h"

namespace shoal::backends::reference {
namespace {

class Gather final : public Kernel {
 public:
  Gather(const Shape& x, int64_t axis) : axis_(x, axis), of_rows_(axis == 0) {}
  bool takes_pieces() const override { return of_rows_; }
  std::string implementation() const override { return "reference"; }

  Result<void> run(const KernelCall& call) override {
    SHOAL_TRY_VOID(check_indices(call.inputs[1], axis_.bound));
    const Indices indices(call.inputs[1]);
    const size_t bytes = size_t(axis_.inner) * size_of(call.inputs[0].dtype);
    std::byte* y = call.outputs[0].data;
    if (bytes == 0) return {};
    if (!call.pieces.empty()) {
      for (int64_t i = 0; i < indices.count(); ++i, y += bytes)
        std::memcpy(y, row_in(call.pieces, indices[i], bytes), bytes);
      return {};
    }
    for (int64_t o = 0; o < axis_.outer; ++o) {
      for (int64_t i = 0; i < indices.count(); ++i, y += bytes) {
        std::memcpy(y, call.inputs[0].data + size_t(o * axis_.bound + indices[i]) * bytes, bytes);
      }
    }
    return {};
  }

 private:
  const IndexedAxis axis_;
  const bool of_rows_;
};

std::unique_ptr<Kernel> make_gather(const KernelRequest& request) {
  return std::make_unique<Gather>(request.inputs[0].shape, request.node.attributes.get_int("axis"));
}

std::unique_ptr<Kernel> make_gather_grad(const KernelRequest& request) {
  const IndexedAxis axis(request.outputs[0].shape, request.node.attributes.get_int("axis"));
  const int64_t elements = request.outputs[0].shape.elements();
  auto loop = [axis, elements](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_indices(call.inputs[1], axis.bound));
    const Indices indices(call.inputs[1]);
    auto* sums = reinterpret_cast<double*>(call.scratch);
    std::fill_n(sums, elements, 0.0);
    const float* dy = call.inputs[0].as<float>().data();
    for (int64_t o = 0; o < axis.outer; ++o) {
      for (int64_t i = 0; i < indices.count(); ++i, dy += axis.inner) {
        add_scaled(sums + (o * axis.bound + indices[i]) * axis.inner, 1.0f, dy, axis.inner);
      }
    }
    round_to(call.outputs[0].as<float>().data(), sums, elements);
    return {};
  };
  return make_loop(loop, size_t(elements) * sizeof(double));
}

/// The number by which the weighted sum of a list's rows is divided.
double bag_divisor(std::span<const float> factors, ops::Combiner combiner) {
  double sum = 0;
  for (float factor : factors) sum += combiner == ops::Combiner::kMean ? double(factor) : double(factor) * double(factor);
  return combiner == ops::Combiner::kMean ? sum : std::sqrt(sum);
}

/// The kernel returns, for each id of a list, the row to look up and the factor by which the row is multiplied. The id -1
/// marks an empty place of the list, for which row and factor are 0.
std::unique_ptr<Kernel> make_bag_rows(const KernelRequest& request) {
  const auto combiner = ops::Combiner(request.node.attributes.get_int("combiner"));
  return make_loop([combiner](const KernelCall& call) -> Result<void> {
    const Indices ids(call.inputs[0]);
    const float* weights = call.inputs.size() > 1 ? call.inputs[1].as<float>().data() : nullptr;
    const auto rows = call.outputs[0].as<int64_t>();
    const auto factors = call.outputs[1].as<float>();
    for (int64_t i = 0; i < ids.count(); ++i) {
      const float weight = weights == nullptr ? 1.0f : weights[i];
      const bool counts = ids[i] != -1 && (combiner == ops::Combiner::kSum || weight > 0);
      rows[size_t(i)] = ids[i] == -1 ? 0 : ids[i];
      factors[size_t(i)] = counts ? weight : 0.0f;
    }
    if (combiner == ops::Combiner::kSum) return {};
    const Shape& shape = call.inputs[0].shape;
    const auto length = size_t(shape[shape.rank() - 1]);
    for (size_t at = 0; length > 0 && at < factors.size(); at += length) {
      const auto list = factors.subspan(at, length);
      const double by = bag_divisor(list, combiner);
      for (float& factor : list) factor = by > 0 ? float(double(factor) / by) : 0.0f;
    }
    return {};
  });
}

std::unique_ptr<Kernel> make_one_hot(const KernelRequest& request) {
  const Attributes& attributes = request.node.attributes;
  const int64_t depth = attributes.get_int("depth");
  const auto on = float(attributes.get_real("on_value"));
  const auto off = float(attributes.get_real("off_value"));
  return make_loop([=](const KernelCall& call) -> Result<void> {
    SHOAL_TRY_VOID(check_indices(call.inputs[0], depth));
    const Indices indices(call.inputs[0]);
    const auto y = call.outputs[0].as<float>();
    std::fill(y.begin(), y.end(), off);
    for (int64_t i = 0; i < indices.count(); ++i) y[size_t(i * depth + indices[i])] = on;
    return {};
  });
}

std::unique_ptr<Kernel> make_top_k(const KernelRequest& request) {
  const Shape& shape = request.inputs[0].shape;
  const int64_t columns = shape[shape.rank() - 1];
  const int64_t k = request.node.attributes.get_int("k");
  auto loop = [columns, k](const KernelCall& call) -> Result<void> {
    const auto x = call.inputs[0].as<float>();
    float* values = call.outputs[0].as<float>().data();
    int64_t* positions = call.outputs[1].as<int64_t>().data();
    auto* order = reinterpret_cast<int64_t*>(call.scratch);
    for (const float* row = x.data(); row != x.data() + x.size(); row += columns, values += k, positions += k) {
      std::iota(order, order + columns, int64_t(0));
      std::partial_sort(order, order + k, order + columns, [row](int64_t a, int64_t b) {
        if (std::isnan(row[a]) || std::isnan(row[b])) {
          return std::isnan(row[a]) && std::isnan(row[b]) ? a < b : std::isnan(row[a]);
        }
        return row[a] != row[b] ? row[a] > row[b] : a < b;
      });
      for (int64_t i = 0; i < k; ++i) {
        positions[i] = order[i];
        values[i] = row[order[i]];
      }
    }
    return {};
  };
  return make_loop(loop, size_t(columns) * sizeof(int64_t));
}

std::unique_ptr<Kernel> make_top_k_grad(const KernelRequest& request) {
  const Shape& shape = request.outputs[0].shape;
  const int64_t columns = shape[shape.rank() - 1];
  const int64_t k = request.node.attributes.get_int("k");
  return make_loop([columns, k](const KernelCall& call) -> Result<void> {
    const auto dy = call.inputs[0].as<float>();
    const auto positions = call.inputs[1].as<int64_t>();
    const auto dx = call.outputs[0].as<float>();
    std::fill(dx.begin(), dx.end(), 0.0f);
    for (size_t i = 0; i < dy.size(); ++i) dx[size_t(int64_t(i) / k * columns + positions[i])] = dy[i];
    return {};
  });
}

}  // namespace

void add_lookup(const AddMaker& add) {
  add("gather", make_gather);
  add("gather_grad", make_gather_grad);
  add("bag_rows", make_bag_rows);
  add("one_hot", make_one_hot);
  add("top_k", make_top_k);
  add("top_k_grad", make_top_k_grad);
}

}  // namespace shoal::backends::reference
