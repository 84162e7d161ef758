// SPDX-License-Identifier: Apache-2.0
// In its steady state an in-memory pipeline allocates nothing, nor does saving its position.
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <new>

#include "collecting.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_TEST_SANITIZED 1
#endif

#if !defined(SHOAL_TEST_SANITIZED)
namespace {
std::atomic<int64_t> allocations{0};
void* counted(size_t bytes, size_t alignment = alignof(std::max_align_t)) {
  ++allocations;
  void* memory = nullptr;
  if (::posix_memalign(&memory, std::max(alignment, sizeof(void*)), bytes) != 0) std::abort();
  return memory;
}
}  // namespace

// Every allocation of this program: by new, and the aligned blocks of Buffer. Not inline, where g++ sees one of a pair and
// takes it for a mistake.
[[gnu::noinline]] void* operator new(size_t bytes) { return counted(bytes); }
[[gnu::noinline]] void* operator new(size_t bytes, std::align_val_t alignment) { return counted(bytes, size_t(alignment)); }
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, size_t, std::align_val_t) noexcept { std::free(memory); }
extern "C" void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return counted(bytes, alignment); }

namespace shoal::data {
namespace {

class Allocations : public WithEnvironment {
 protected:
  static int64_t count() { return allocations; }
};

TEST_F(Allocations, AreCounted) {
  const int64_t before = count();
  const Tensor tensor(DType::kFloat32, Shape{10});
  EXPECT_EQ(count() - before, 1);
  const auto number = std::make_unique<int>(5);
  EXPECT_EQ(count() - before, 2);
}

TEST_F(Allocations, NoneInTheSteadyStateOfTheInMemoryPipeline) {
  const Tensor images = Tensor::zeros(DType::kFloat32, Shape{1000, 28, 28, 1});
  const Tensor labels = Tensor::zeros(DType::kInt64, Shape{1000});
  const std::vector<Dataset> datasets = {
      Dataset::from_tensor_slices(images, labels).shuffle(1000).repeat().batch(32),
      Dataset::from_tensor_slices(images, labels).shuffle(100).repeat().batch(32),
      Dataset::from_tensor_slices(images, labels).repeat().shuffle(300).batch(32),
      Dataset::from_tensor_slices(images, labels)
          .shard(3, 1)
          .shuffle(1000)
          .batch(32)
          .repeat(),  // The last batches are smaller.
      Dataset::from_tensor_slices({{"a", images}, {"b", labels}}).shuffle(1000).repeat().take(INT64_MAX).batch(7)};
  for (const Dataset& dataset : datasets) {
    const std::unique_ptr<Iterator> iterator = open(dataset, env());
    Batch batch;
    Position position;
    const auto step = [&] { return value_or_raise(iterator->next(batch)) && bool(iterator->save_to(position)); };
    for (int i = 0; i < 400; ++i) ASSERT_TRUE(step());
    const int64_t before = count();
    for (int i = 0; i < 400; ++i) {
      if (!step()) FAIL();
    }
    EXPECT_EQ(count() - before, 0);
  }
}

}  // namespace
}  // namespace shoal::data
#endif
