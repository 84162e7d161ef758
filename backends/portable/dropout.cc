// SPDX-License-Identifier: Apache-2.0
// Dropout. Random numbers are made in blocks that stay in the first-level cache.
#include <algorithm>
#include <span>

#include "shoal/base/random.h"
#include "shoal/graph/op.h"
#include "sources.h"
#include "threads.h"

namespace shoal::backends::portable {

std::unique_ptr<Kernel> make_dropout(const KernelRequest& request) {
  if (!all_float32(request)) return nullptr;
  const int64_t count = request.outputs[0].shape.elements();
  const double rate = request.node.attributes.get_real("rate");
  const int64_t node_key = request.node.attributes.get_int("key");
  const uint32_t threshold = dropout_threshold(rate);
  const float factor = dropout_scale(rate);
  return make_loop([=, threads = request.threads, seed = request.graph_seed](const KernelCall& call) -> Result<void> {
    constexpr int64_t kBlock = 2048;  // Elements. A multiple of four, since Philox makes four numbers at once.
    const RandomKey sequence = random_sequence(seed, node_key, call.key.trainer, call.key.ordinal);
    const float* x = floats(call.inputs[0]);
    float* y = floats(call.outputs[0]);
    // One random number costs about as much as moving 16 bytes.
    parallel_for(threads, (count + kBlock - 1) / kBlock, 16 * count, [=](int64_t begin, int64_t end) {
      uint32_t bits[kBlock];
      for (int64_t block = begin; block < end; ++block) {
        const int64_t first = block * kBlock, size = std::min(kBlock, count - first);
        fill_bits(sequence, uint64_t(first) / 4, 0, std::span(bits, size_t(size)));
        keep(x + first, bits, threshold, factor, y + first, size);
      }
    });
    return {};
  });
}

}  // namespace shoal::backends::portable
