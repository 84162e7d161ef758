// SPDX-License-Identifier: Apache-2.0
/// Changes of layout in parts: that they are divided where they are worth it, and what comes out.
#include <gtest/gtest.h>

#include <cstring>
#include <numeric>
#include <vector>

#include "openmp.h"
#include "primitive.h"
#include "shoal/base/buffer.h"
#include "threads.h"

namespace shoal::backends::onednn {
namespace {

using Tag = dnnl::memory::format_tag;

struct Reordered {
  std::string implementation;
  std::vector<float> elements;
};

/// 0, 1, 2, ... as `shape` in row-major order, in layout `to` and back.
Reordered there_and_back(int threads, const dnnl::memory::dims& shape, Tag plain, Tag to) {
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  set_openmp_threads(1);
  PrimitiveKernel kernel({.engine = engine, .stream = dnnl::stream(engine), .threads = threads});
  const dnnl::memory::desc rows(shape, kFloat, plain), blocks(shape, kFloat, to);
  const Operand between = kernel.reserve_scratch(blocks);
  kernel.add_reorder(rows, input(0), blocks, between);
  kernel.add_reorder(blocks, between, rows, output(0));

  std::vector<float> from(rows.get_size() / sizeof(float)), result(from.size());
  std::iota(from.begin(), from.end(), 0.0F);
  const auto scratch = Buffer::allocate(kernel.scratch_bytes());
  const Shape flat{int64_t(from.size())};
  const TensorView inputs[] = {{DType::kFloat32, flat, reinterpret_cast<const std::byte*>(from.data())}};
  const MutableTensorView outputs[] = {{DType::kFloat32, flat, reinterpret_cast<std::byte*>(result.data())}};
  EXPECT_TRUE(kernel.run({.inputs = inputs, .outputs = outputs, .scratch = scratch->data()}));
  EXPECT_EQ(result, from);
  std::vector<float> blocked(blocks.get_size() / sizeof(float));
  std::memcpy(blocked.data(), scratch->data() + between.index, blocks.get_size());
  return {kernel.implementation(), blocked};
}

struct Layouts {
  dnnl::memory::dims shape;
  Tag plain, blocks;
};

class Reorder : public ::testing::TestWithParam<Layouts> {};

TEST_P(Reorder, InPartsGivesWhatTheWholeDoes) {
  const auto& [shape, plain, blocks] = GetParam();
  const Reordered whole = there_and_back(1, shape, plain, blocks);
  EXPECT_FALSE(whole.implementation.ends_with(" parts"));
  for (const int threads : {2, 3}) {
    const Reordered parts = there_and_back(threads, shape, plain, blocks);
    EXPECT_TRUE(parts.implementation.ends_with(" in " + std::to_string(threads) + " parts")) << parts.implementation;
    EXPECT_EQ(parts.elements, whole.elements);
  }
}

// The kernels of a convolution as its passes want them, and a matrix; the last of each kind can only be divided by its
// second axis, since the first is one block.
INSTANTIATE_TEST_SUITE_P(Layouts, Reorder,
                         ::testing::Values(Layouts{{96, 48, 5, 5}, Tag::abcd, Tag::Acdb32a},
                                           Layouts{{96, 48, 5, 5}, Tag::abcd, Tag::ABcd16a16b},
                                           Layouts{{96, 48, 5, 5}, Tag::abcd, Tag::ABcd16b16a},
                                           Layouts{{16, 192, 5, 5}, Tag::abcd, Tag::ABcd16b16a},
                                           Layouts{{192, 384}, Tag::ab, Tag::AB16b64a}));

}  // namespace
}  // namespace shoal::backends::onednn
