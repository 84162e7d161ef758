// SPDX-License-Identifier: Apache-2.0
#include "shoal/nn/recompute.h"

namespace shoal::nn {

Value recompute(Value x, const std::function<Value(Value)>& block) {
  if (!block) raise(invalid_argument("recompute: the block is an empty function; give one that makes a value of x"));
  const auto part = x.graph().recomputed_part();
  return block(x);
}

}  // namespace shoal::nn
