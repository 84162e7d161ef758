// SPDX-License-Identifier: Apache-2.0
/// Segments, and the blocks that pools get from them.
#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>

#include "../base/file_size_limit.h"
#include "meeting.h"

namespace shoal::transport::shm {
namespace {

TEST(Segments, CannotShrinkGrowOrBeWrittenByOthers) {
  const Result<Segment> segment = create_segment(1000, PeersMay::kRead);
  ASSERT_TRUE(segment);
  EXPECT_EQ(segment->memory.bytes(), size_t(::sysconf(_SC_PAGESIZE)));
  std::memset(segment->memory.data(), 7, segment->memory.bytes());
  EXPECT_NE(::ftruncate(segment->file.get(), 0), 0);
  EXPECT_NE(::ftruncate(segment->file.get(), 1 << 20), 0);
  EXPECT_TRUE(::fcntl(segment->file.get(), F_GETFD) & FD_CLOEXEC);
  if ((::fcntl(segment->file.get(), F_GET_SEALS) & 0x0010) == 0) GTEST_SKIP() << "this kernel has no F_SEAL_FUTURE_WRITE";
  EXPECT_EQ(::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, segment->file.get(), 0), MAP_FAILED);
  const Result<Mapping> theirs = map_segment(segment->file, segment->memory.bytes(), PeersMay::kRead);
  ASSERT_TRUE(theirs);
  EXPECT_EQ(theirs->data()[999], std::byte(7));
}

TEST(Segments, OfPeersMustBeSealedAndOfTheSizeAnnounced) {
  const Result<Segment> segment = create_segment(8192, PeersMay::kRead);
  ASSERT_TRUE(segment);
  const Result<Mapping> smaller = map_segment(segment->file, 4096, PeersMay::kRead);
  expect_error(smaller, ErrorKind::kDataLoss, "8192 bytes instead of 4096");
  const File open(::memfd_create("unsealed", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  ASSERT_EQ(::ftruncate(open.get(), 8192), 0);
  const Result<Mapping> unsealed = map_segment(open, 8192, PeersMay::kRead);
  expect_error(unsealed, ErrorKind::kDataLoss, "sealed");
  const File zero(::open("/dev/zero", O_RDWR | O_CLOEXEC));
  const Result<Mapping> no_memory = map_segment(zero, 8192, PeersMay::kRead);
  expect_error(no_memory, ErrorKind::kDataLoss, "sealed");
}

TEST(SharedMemory, BacksAPoolFromTheFirstUseOn) {
  const auto pool = BufferPool::create();
  { const Ref<Buffer> before = pool->get(5000); }
  const Ref<Buffer> held = pool->get(6000);
  const auto memory = SharedMemory::of(*pool);
  ASSERT_TRUE(memory);
  EXPECT_EQ(SharedMemory::of(*pool), memory);
  EXPECT_FALSE(memory->find(held->bytes()));
  for (const size_t bytes : {size_t(1), size_t(5000), size_t(700000), size_t(9) << 20}) {
    const Ref<Buffer> buffer = pool->get(bytes);
    std::memset(buffer->data(), 1, bytes);
    const auto place = memory->find(buffer->bytes());
    ASSERT_TRUE(place) << bytes;
    EXPECT_EQ(place->segment->segment.memory.data() + place->offset, buffer->data());
    EXPECT_EQ(reinterpret_cast<uintptr_t>(buffer->data()) % kBufferAlignment, 0u);
  }
}

TEST(SharedMemory, EndsWithItsBlocks) {
  const size_t files = open_files(), mappings = mapped("memfd:shoal");
  {
    const auto pool = BufferPool::create(0);  // It keeps nothing.
    const auto memory = SharedMemory::of(*pool);
    Ref<Buffer> small = pool->get(1000), other = pool->get(2000), large = pool->get(5 << 20);
    EXPECT_EQ(mapped("memfd:shoal"), mappings + 2);
    large = {};
    EXPECT_EQ(memory->ended_count(), 1u);
    small = {};
    EXPECT_EQ(memory->ended_count(), 1u);
    other = {};
    EXPECT_EQ(memory->ended_count(), 2u);
    EXPECT_EQ(mapped("memfd:shoal"), mappings);
  }
  EXPECT_EQ(open_files(), files);
}

TEST(SharedMemory, RetiredBlocksAreNotHandedOutAgain) {
  const auto pool = BufferPool::create();
  const auto memory = SharedMemory::of(*pool);
  for (const size_t bytes : {size_t(1000), size_t(5) << 20}) {
    const Ref<Buffer> holds_segment = pool->get(1000);
    Ref<Buffer> first = pool->get(bytes);
    const auto place = memory->find(first->bytes());
    const uint64_t id = place->segment->id;
    const size_t offset = place->offset;
    first->retire();
    EXPECT_FALSE(first->unique());
    first = {};
    for (int i = 0; i < 10; ++i) {
      const Ref<Buffer> next = pool->get(bytes);
      const auto at = memory->find(next->bytes());
      EXPECT_FALSE(at->segment->id == id && at->offset == offset);
    }
  }
}

TEST(SharedMemory, SaysWhichLimitItHasMet) {
  const auto pool = BufferPool::create();
  const auto memory = SharedMemory::of(*pool);
  EXPECT_TRUE(memory->check());
  EXPECT_FALSE(memory->last_failure());
  const FileSizeLimit limit(1 << 20);
  expect_error(memory->check(), ErrorKind::kInternal, "raise the limit of file sizes (ulimit -f)");
  const Ref<Buffer> buffer = pool->get(1000);
  EXPECT_FALSE(memory->find(buffer->bytes()));
  ASSERT_TRUE(memory->last_failure());
  EXPECT_EQ(memory->last_failure()->kind(), ErrorKind::kInternal);
  EXPECT_THAT(memory->last_failure()->message(), HasSubstr("ulimit -f"));
}

TEST_F(Shm, NeitherListensNorConnectsBeyondALimit) {
  ASSERT_TRUE(listen());
  const FileSizeLimit limit(1 << 20);
  expect_error(listen("other:0"), ErrorKind::kInternal, "ulimit -f), or use --transport tcp");
  const auto connects = [&]() -> Task<Done> {
    const Result<Connected> connected = co_await connect();
    expect_error(connected, ErrorKind::kInternal, "ulimit -f), or use --transport tcp");
    co_return Done();
  };
  tasks.run_client(connects());
}

TEST(SharedMemory, WithoutDescriptorsPoolsFallBackToOrdinaryMemory) {
  const auto pool = BufferPool::create();
  const auto memory = SharedMemory::of(*pool);
  const Ref<Buffer> before = pool->get(1 << 20);
  EXPECT_TRUE(memory->find(before->bytes()));
  std::vector<File> all;
  while (true) {
    File file(::open("/dev/null", O_RDONLY | O_CLOEXEC));
    if (!file || all.size() > 100000) break;
    all.push_back(std::move(file));
  }
  if (all.size() > 100000) GTEST_SKIP() << "this system has no end of descriptors";
  const Ref<Buffer> buffer = pool->get(5 << 20);
  all.clear();  // The files are closed here, since UBSan looks at objects through a pipe.
  std::memset(buffer->data(), 1, buffer->size());
  EXPECT_FALSE(memory->find(buffer->bytes()));
}

}  // namespace
}  // namespace shoal::transport::shm
