// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/half.h"

namespace shoal {
namespace {

SHOAL_VECTOR_LOOP void round_all(const float* from, float* to, int64_t count) {
  SHOAL_INDEPENDENT
  for (int64_t i = 0; i < count; ++i) to[i] = from_bfloat16(to_bfloat16(from[i]));
}

}  // namespace

void round_to_bfloat16(const float* from, float* to, int64_t count) { round_all(from, to, count); }

}  // namespace shoal
