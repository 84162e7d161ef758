// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What oneDNN itself needs for a model's convolutions, matrix products and pools, forward and backward: the limit that
/// a training step is compared with.
#include <functional>
#include <memory>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::bench {

/// Every primitive in the layout that oneDNN likes best, on memory of its own, one after another; no reorders, no losses,
/// no updates. Made and run on one thread, with an OpenMP team of oneDNN's own.
class PrimitiveSum {
 public:
  virtual ~PrimitiveSum() = default;
  virtual void run() = 0;
};

/// The primitives of "mlp" or "cnn", on so many threads; null for other models, whose primitives are not listed.
std::unique_ptr<PrimitiveSum> make_primitive_sum(std::string_view model, int64_t batch, int threads);

}  // namespace shoal::bench
