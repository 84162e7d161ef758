// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/pooling.h"

#include "layers.h"
#include "shoal/graph/ops.h"

namespace shoal::nn {
namespace {

ops::PoolOptions checked(std::string_view layer, Value x, const PoolOptions& options) {
  check_input(layer, x, 4, "[batch, height, width, channels]");
  check_positive(layer, "the window's height", options.window.height);
  check_positive(layer, "the window's width", options.window.width);
  return {.window = options.window.sizes(), .strides = options.strides.sizes(), .padding = options.padding};
}

}  // namespace

Value max_pool(Value x, const PoolOptions& options) { return ops::max_pool(x, checked("max_pool", x, options)); }

Value avg_pool(Value x, const PoolOptions& options) { return ops::avg_pool(x, checked("avg_pool", x, options)); }

Value global_max_pool(Value x) {
  check_input("global_max_pool", x, 4, "[batch, height, width, channels]");
  return ops::global_max_pool(x);
}

Value global_avg_pool(Value x) {
  check_input("global_avg_pool", x, 4, "[batch, height, width, channels]");
  return ops::global_avg_pool(x);
}

}  // namespace shoal::nn
