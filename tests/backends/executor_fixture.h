// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include "run_graph.h"
#include "shoal/graph/ops.h"

namespace shoal::backends::testing {

inline Tensor ramp(Shape shape, float first = 1) {
  Tensor tensor(DType::kFloat32, shape);
  for (float& value : tensor.mutable_as<float>()) value = first++;
  return tensor;
}

class Executor : public ::testing::Test {
 protected:
  Runner make(CompileOptions options) { return value_or_raise(Runner::make(*backend_, graph_, std::move(options))); }

  std::unique_ptr<Backend> backend_ = backend_or_die("reference");
  Graph graph_;
  Value x_ = graph_.input("x", DType::kFloat32, {2, 3});
  Value w_ = graph_.variable("w", {4, 3});
  Value v_ = graph_.variable("v", {4, 3});
  Feeds feeds_{{"x", ramp({2, 3})}, {"w", ramp({4, 3}, -3)}, {"v", ramp({4, 3}, 10)}};
};

}  // namespace shoal::backends::testing
