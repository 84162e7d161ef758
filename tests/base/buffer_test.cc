// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/buffer.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <latch>
#include <span>
#include <thread>
#include <utility>
#include <vector>

#include "shoal/base/environment.h"
#include "shoal/base/exhaustion.h"

namespace shoal {
namespace {

TEST(Buffer, IsAlignedAndCounted) {
  const Ref<Buffer> buffer = Buffer::allocate(100);
  EXPECT_EQ(buffer->size(), 100u);
  EXPECT_GE(buffer->capacity(), 100u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kBufferAlignment, 0u);
  EXPECT_TRUE(buffer->unique());
  {
    const Ref<Buffer> second = buffer;
    EXPECT_FALSE(buffer->unique());
  }
  EXPECT_TRUE(buffer->unique());
  EXPECT_EQ(Buffer::allocate(0)->size(), 0u);
}

TEST(Buffer, ResizesWithinItsCapacityAndKeepsContents) {
  const Ref<Buffer> buffer = BufferPool::create()->get(1000);
  std::memset(buffer->data(), 7, 1000);
  buffer->resize(10);
  EXPECT_EQ(buffer->bytes().size(), 10u);
  buffer->resize(1000);
  EXPECT_EQ(int(buffer->data()[999]), 7);
  EXPECT_DEATH(buffer->resize(buffer->capacity() + 1), "broken invariant");
}

TEST(BufferPool, RoundsUpToItsSizeClasses) {
  const auto pool = BufferPool::create();
  constexpr size_t kMiB = size_t(1) << 20;
  const std::pair<size_t, size_t> rows[] = {{0, 256},
                                            {256, 256},
                                            {257, 384},
                                            {385, 512},
                                            {513, 768},
                                            {769, 1024},
                                            {3 * kMiB, 3 * kMiB},
                                            {3 * kMiB + 1, 4 * kMiB},
                                            {4 * kMiB + 1, 5 * kMiB},
                                            {9 * kMiB - 1, 9 * kMiB}};
  for (const auto& [asked, given] : rows) {
    const Ref<Buffer> buffer = pool->get(asked);
    EXPECT_EQ(buffer->capacity(), given) << asked;
    EXPECT_EQ(buffer->size(), asked);
  }
}

TEST(BufferPool, ReusesWhatCameBack) {
  const auto pool = BufferPool::create();
  const std::byte* first = pool->get(5000)->data();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(pool->get(4900 + size_t(i))->data(), first);
  const auto stats = pool->stats();
  EXPECT_EQ(stats.fresh_count, 1u);
  EXPECT_EQ(stats.reused_count, 100u);
  EXPECT_EQ(stats.in_use_bytes, 0u);
  EXPECT_EQ(stats.allocated_bytes, 6144u);
  EXPECT_EQ(stats.peak_in_use_bytes, 6144u);
}

TEST(BufferPool, FreesWhatIsAboveItsLimit) {
  const auto pool = BufferPool::create(2048);
  {
    const Ref<Buffer> a = pool->get(1024), b = pool->get(1024), c = pool->get(1024), large = pool->get(4096);
    EXPECT_EQ(pool->stats().in_use_bytes, 3 * 1024u + 4096u);
  }
  EXPECT_EQ(pool->stats().allocated_bytes, 2048u);  // Two of the small ones are kept.
}

TEST(BufferPool, KeepsAboveItsLimitWhatIsWantedAgainAndAgain) {
  constexpr size_t kBytes = 1024;
  const auto pool = BufferPool::create(2 * kBytes);
  const auto use = [&](size_t count) {
    const uint64_t before = pool->stats().fresh_count;
    std::vector<Ref<Buffer>> buffers;
    for (size_t i = 0; i < count; ++i) buffers.push_back(pool->get(kBytes));
    return pool->stats().fresh_count - before;
  };
  const auto idle_bytes = [&] { return pool->stats().allocated_bytes - pool->stats().in_use_bytes; };
  EXPECT_EQ(use(5), 5u);
  EXPECT_EQ(idle_bytes(), 2 * kBytes);  // The first time may have been an exception.
  EXPECT_EQ(use(5), 3u);
  EXPECT_EQ(idle_bytes(), 5 * kBytes);  // The second time shows that it was none.
  EXPECT_EQ(use(5), 0u);
  EXPECT_EQ(use(6), 1u);
  EXPECT_EQ(idle_bytes(), 5 * kBytes);
}

TEST(BufferPool, KeepsNoMoreThanWasInUseAtOnce) {
  constexpr size_t kBytes = 1024;
  const auto pool = BufferPool::create(2 * kBytes);
  for (int turn = 0; turn < 5; ++turn) {
    for (size_t bytes : {kBytes, 2 * kBytes}) {
      std::vector<Ref<Buffer>> buffers;
      for (size_t used = 0; used < 6 * kBytes; used += bytes) buffers.push_back(pool->get(bytes));
    }
  }
  EXPECT_LE(pool->stats().allocated_bytes, 6 * kBytes);
}

TEST(BufferPool, LivesAsLongAsItsBuffers) {
  auto pool = BufferPool::create();
  Ref<Buffer> buffer = pool->get(300);
  const std::weak_ptr<BufferPool> watch = pool;
  pool.reset();
  EXPECT_FALSE(watch.expired());
  std::memset(buffer->data(), 1, 300);
  buffer = {};
  EXPECT_TRUE(watch.expired());
}

/// Counts what is out, and has only `blocks` of them.
class CountingSource final : public BlockSource {
 public:
  explicit CountingSource(int blocks) : left_(blocks) {}
  ~CountingSource() override { EXPECT_EQ(out, 0); }
  std::byte* allocate(size_t bytes) override {
    if (left_ == 0) return nullptr;
    --left_;
    ++out;
    return static_cast<std::byte*>(std::aligned_alloc(kBufferAlignment, align_up(bytes)));
  }
  void free(std::byte* block, size_t) override {
    --out;
    std::free(block);
  }
  int out = 0;

 private:
  int left_;
};

/// Raises an error when it is asked for memory.
class RaisingSource final : public BlockSource {
 public:
  std::byte* allocate(size_t) override { raise_exhausted(unavailable("no memory")); }
  void free(std::byte*, size_t) override {}
};

TEST(BufferPool, CountsNoBufferForWhichItsSourceRaisesAnError) {
  auto pool = BufferPool::create();
  pool->adopt_source(std::make_shared<RaisingSource>());
  EXPECT_EQ(call_user("a test", [&pool] { return pool->get(1000); }).error().message(), "no memory");
  EXPECT_EQ(pool->stats().in_use_bytes, 0u);
  EXPECT_EQ(pool->stats().allocated_bytes, 0u);
  const std::weak_ptr<BufferPool> watch = std::exchange(pool, nullptr);
  EXPECT_TRUE(watch.expired());
}

TEST(BufferPool, TakesItsBlocksFromTheSourceItWasGivenFirst) {
  const auto pool = BufferPool::create();
  { const Ref<Buffer> idle = pool->get(1000); }
  Ref<Buffer> before = pool->get(2000);
  const auto source = std::make_shared<CountingSource>(2);
  EXPECT_EQ(pool->adopt_source(source), source);
  EXPECT_EQ(pool->adopt_source(std::make_shared<CountingSource>(2)), source);
  EXPECT_EQ(pool->stats().allocated_bytes, 2048u);  // What was idle is gone.
  before = {};
  EXPECT_EQ(pool->stats().allocated_bytes, 0u);  // What was in use is not kept either.
  {
    const Ref<Buffer> a = pool->get(1000), b = pool->get(1000);
    EXPECT_EQ(source->out, 2);
    const Ref<Buffer> c = pool->get(1000);  // The source has no more.
    std::memset(c->data(), 1, 1000);
  }
  EXPECT_EQ(source->out, 2);
  EXPECT_EQ(pool->stats().allocated_bytes, 2048u);
}

TEST(BufferPool, GivesUpWhatWasRetired) {
  const auto pool = BufferPool::create();
  const auto source = std::make_shared<CountingSource>(1);
  pool->adopt_source(source);
  Ref<Buffer> buffer = pool->get(1000);
  EXPECT_TRUE(buffer->unique());
  buffer->retire();
  EXPECT_FALSE(buffer->unique());
  buffer = {};
  EXPECT_EQ(source->out, 0);
  EXPECT_EQ(pool->stats().allocated_bytes, 0u);
}

TEST(Buffer, OverLentMemoryGoesBackToItsOwnerAndIsNeverUnique) {
  struct Owner final : BufferOwner {
    void take_back(Buffer* buffer) override { returned = buffer; }
    Buffer* returned = nullptr;
  } owner;
  alignas(kBufferAlignment) const std::byte bytes[128] = {};
  const std::span<const std::byte> all = bytes;
  Buffer lent(all.first(64), all.last(64), owner);
  Ref<const Buffer> reference = Ref<const Buffer>::adopt(&lent);
  EXPECT_EQ(reference->data(), bytes);
  EXPECT_EQ(reference->size(), 64u);
  EXPECT_EQ(reference->rest().data(), bytes + 64);
  EXPECT_FALSE(reference->unique());
  Ref<const Buffer> second = reference;
  reference = {};
  EXPECT_EQ(owner.returned, nullptr);
  second = {};
  EXPECT_EQ(owner.returned, &lent);
}

// What other holders read is done before the writer writes: ThreadSanitizer is the judge of the ordering.
TEST(BufferPool, UniquenessLicensesWritingAcrossThreads) {
  constexpr int kThreads = 4, kRounds = 2000;
  const auto pool = BufferPool::create();
  Ref<Buffer> buffer = pool->get(sizeof(int));
  std::memset(buffer->data(), 0, sizeof(int));
  std::atomic<long> sum{0};
  for (int round = 1; round <= kRounds / 100; ++round) {
    std::vector<std::thread> readers;
    for (int i = 0; i < kThreads; ++i) {
      readers.emplace_back([&sum, held = buffer] { sum += *reinterpret_cast<const int*>(held->data()); });
    }
    while (!buffer->unique()) std::this_thread::yield();
    *reinterpret_cast<int*>(buffer->data()) = round;  // The threads may not be joined yet.
    for (std::thread& reader : readers) reader.join();
  }
  EXPECT_EQ(sum.load(), kThreads * (kRounds / 100 - 1) * (kRounds / 100) / 2);
}

TEST(BufferPool, ServesManyThreads) {
  constexpr int kThreads = 4, kRounds = 3000;
  const auto pool = BufferPool::create();
  std::atomic<int> wrong{0};
  std::latch start(kThreads);
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      start.arrive_and_wait();
      std::vector<Ref<Buffer>> held;
      for (int i = 0; i < kRounds; ++i) {
        const size_t bytes = size_t(256 + (i * 37 + t * 101) % 2000);
        held.push_back(pool->get(bytes));
        std::memset(held.back()->data(), t, bytes);
        if (held.size() == 8) {
          for (const auto& buffer : held) {
            for (std::byte value : buffer->bytes()) wrong += int(value) != t;
          }
          held.clear();
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  const auto stats = pool->stats();
  EXPECT_EQ(stats.in_use_bytes, 0u);
  EXPECT_EQ(stats.fresh_count + stats.reused_count, uint64_t(kThreads) * kRounds);
  EXPECT_LT(stats.fresh_count, 300u);
}

}  // namespace
}  // namespace shoal
