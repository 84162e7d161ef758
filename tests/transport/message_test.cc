// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <optional>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/transport/message.h"
#include "split_message.h"

namespace shoal::transport {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
bool aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

/// The same message as it arrives on the other side: other memory, same bytes.
Message arrived(const Message& message) {
  Message copy;
  copy.head = message.head;
  auto body = Buffer::allocate(message.body_bytes());
  if (message.body) std::memcpy(body->data(), message.body->data(), message.body_bytes());
  if (message.body) copy.body = body;
  return copy;
}

class Messages : public testing::Test {
 protected:
  std::shared_ptr<BufferPool> pool = BufferPool::create();

  /// One of each kind that has a body.
  std::vector<Message> one_of_each() {
    std::vector<Message> all;
    all.push_back(make_hello(*pool, {.job = "j", .role = "worker", .index = 3, .strategy = "async", .numerics = "n"}));
    all.push_back(make_control(*pool, "spec", R"({"a":1})", bytes_of("some bytes")));
    all.push_back(make_error(*pool, unavailable("gone")));
    all.push_back(make_weights(*pool, 1000));
    all.push_back(make_chunk(*pool, {.range_end = 256, .closing = true, .position = "here"}, 256, 3).message);
    all.push_back(make_snapshot_part(*pool, {.name = "slot/0", .total_bytes = 4, .payload = bytes_of("abcd")}));
    all.push_back(make_report(*pool, {.kind = ReportKind::kHeld, .received = 3, .push = {1, 2, 3}, .base_version = 4}));
    all.push_back(make_order(*pool, {.index = 1, .number = 2, .global_step = 3, .pushes = {{0, 1, 2}, {1, 2, 3}}}));
    return all;
  }
};

TEST_F(Messages, HelloReadsBack) {
  const Hello hello{.protocol = 9,
                    .job = "j-1",
                    .role = "evaluator",
                    .index = 12,
                    .incarnation = ~uint64_t(0),
                    .strategy = "sync(4 of 5)",
                    .fingerprint = 0x1234,
                    .numerics = "onednn 2.6 avx512 threads 1",
                    .meaning = "the head: binary_head\n"};
  const Message message = arrived(make_hello(*pool, hello));
  ASSERT_TRUE(verify(message));
  const auto read = read_hello(message);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->protocol, 9u);
  EXPECT_EQ(read->job, hello.job);
  EXPECT_EQ(read->role, hello.role);
  EXPECT_EQ(read->index, 12);
  EXPECT_EQ(read->incarnation, hello.incarnation);
  EXPECT_EQ(read->strategy, hello.strategy);
  EXPECT_EQ(read->fingerprint, hello.fingerprint);
  EXPECT_EQ(read->numerics, hello.numerics);
  EXPECT_EQ(read->meaning, hello.meaning);
}

TEST_F(Messages, ControlReadsBackAndMayBeEmpty) {
  const Message message = arrived(make_control(*pool, "shard_spec", "{}", bytes_of("payload")));
  ASSERT_TRUE(verify(message));
  EXPECT_EQ(read_control(message)->verb, "shard_spec");
  EXPECT_EQ(read_control(message)->text, "{}");
  EXPECT_EQ(text_of(read_control(message)->payload), "payload");
  EXPECT_EQ(text_of(message.payload()), "payload");
  const Message bare = arrived(make_control(*pool, "ping"));
  ASSERT_TRUE(verify(bare));
  EXPECT_TRUE(read_control(bare)->text.empty());
  EXPECT_TRUE(bare.payload().empty());
}

TEST_F(Messages, ErrorKeepsKindAndSentence) {
  const Message message = arrived(make_error(*pool, failed_precondition("shard 1: other model")));
  ASSERT_TRUE(verify(message));
  EXPECT_EQ(read_error(message), failed_precondition("shard 1: other model"));
  EXPECT_EQ(read_error(make_control(*pool, "x")).kind(), ErrorKind::kInvalidArgument);
  const Message endless = arrived(make_error(*pool, unavailable(std::string(1 << 20, 'x'))));
  ASSERT_TRUE(verify(endless));
  EXPECT_EQ(read_error(endless).message().size(), size_t(16 * 1024));
}

TEST_F(Messages, AnErrorThatSpeaksOfItsSenderAloneIsUnavailableForOthers) {
  for (const ErrorKind kind : {ErrorKind::kCancelled, ErrorKind::kDeadlineExceeded, ErrorKind::kEndOfInput}) {
    EXPECT_EQ(read_error(arrived(make_error(*pool, Error(kind, "why")))), unavailable("why")) << to_string(kind);
  }
}

TEST_F(Messages, WeightsAreWrittenInPlace) {
  for (size_t bytes : {size_t(0), size_t(4), size_t(64), size_t(1000), size_t(1) << 20}) {
    Message message = make_weights(*pool, bytes);
    const std::span<std::byte> payload = mutable_payload(message);
    ASSERT_EQ(payload.size(), bytes);
    EXPECT_TRUE(aligned(payload.data()));
    for (size_t i = 0; i < bytes; ++i) payload[i] = std::byte(i * 7);
    set_weights_version(message, 5, ~uint64_t(0));
    set_weights_version(message, 0, 0);
    set_weights_version(message, 41, 42);
    const Message there = arrived(message);
    ASSERT_TRUE(verify(there));
    const auto weights = read_weights(there);
    ASSERT_TRUE(weights);
    EXPECT_EQ(weights->version, 41u);
    EXPECT_EQ(weights->global_step, 42u);
    ASSERT_EQ(weights->payload.size(), bytes);
    EXPECT_TRUE(aligned(weights->payload.data()));
    for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(weights->payload[i], std::byte(i * 7));
  }
}

TEST_F(Messages, SharedWeightsMayNotBeWritten) {
  Message message = make_weights(*pool, 64);
  const Message reader = message;
  EXPECT_DEATH(mutable_payload(message), "unique");
  EXPECT_DEATH(set_weights_version(message, 1, 1), "unique");
}

TEST_F(Messages, ChunkIsWrittenInPlace) {
  const Chunk fields{.base_version = 1,
                     .ordinal = 3,
                     .range_begin = 128,
                     .range_end = 128 + 300,
                     .chunk_index = 4,
                     .chunk_count = 5,
                     .closing = true,
                     .position = std::string_view("\0pos\xff", 5)};
  OutgoingChunk outgoing = make_chunk(*pool, fields, 300, 2);
  ASSERT_EQ(outgoing.payload.size(), 300u);
  ASSERT_EQ(outgoing.scalars.size(), 2u);
  EXPECT_TRUE(aligned(outgoing.payload.data()));
  std::memset(outgoing.payload.data(), 7, 300);
  outgoing.scalars[0] = 0.5;
  outgoing.scalars[1] = -1e300;
  set_metrics(outgoing.message, {.loss = 0.25, .waited_secs = 1.5, .input_wait = 0.75});
  const Message there = arrived(outgoing.message);
  ASSERT_TRUE(verify(there));
  const auto chunk = read_chunk(there);
  ASSERT_TRUE(chunk);
  EXPECT_EQ(chunk->base_version, 1u);
  EXPECT_EQ(chunk->ordinal, 3u);
  EXPECT_EQ(chunk->encoding, Encoding::kDense);
  EXPECT_EQ(chunk->range_begin, 128u);
  EXPECT_EQ(chunk->range_end, 428u);
  EXPECT_EQ(chunk->chunk_index, 4u);
  EXPECT_EQ(chunk->chunk_count, 5u);
  EXPECT_TRUE(chunk->closing);
  EXPECT_EQ(chunk->position, fields.position);
  EXPECT_THAT(chunk->scalars, testing::ElementsAre(0.5, -1e300));
  EXPECT_EQ(chunk->metrics.loss, 0.25);
  EXPECT_EQ(chunk->metrics.waited_secs, 1.5);
  EXPECT_EQ(chunk->metrics.input_wait, 0.75);
  EXPECT_EQ(chunk->payload[299], std::byte(7));
  EXPECT_TRUE(aligned(chunk->payload.data()));
}

TEST_F(Messages, SnapshotPartReadsBack) {
  const SnapshotPart part{.version = 8, .name = "slot/0", .offset = 64, .total_bytes = 68, .payload = bytes_of("four")};
  const Message there = arrived(make_snapshot_part(*pool, part));
  ASSERT_TRUE(verify(there));
  const auto read = read_snapshot_part(there);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->version, 8u);
  EXPECT_EQ(read->name, "slot/0");
  EXPECT_EQ(read->offset, 64u);
  EXPECT_EQ(read->total_bytes, 68u);
  EXPECT_EQ(text_of(read->payload), "four");
}

TEST_F(Messages, ReportsReadBack) {
  const Report in_step{.kind = ReportKind::kInStep, .received = ~uint64_t(0), .push = {}, .base_version = 0};
  const Report held{.kind = ReportKind::kHeld,
                    .received = 7,
                    .push = {.trainer = 65535, .incarnation = ~uint64_t(0), .number = uint64_t(1) << 63},
                    .base_version = 5};
  for (const Report& report : {in_step, held}) {
    const Message there = arrived(make_report(*pool, report));
    ASSERT_TRUE(verify(there));
    EXPECT_TRUE(there.payload().empty());
    const auto read = read_report(there);
    ASSERT_TRUE(read);
    EXPECT_EQ(read->kind, report.kind);
    EXPECT_EQ(read->received, report.received);
    EXPECT_EQ(read->push, report.push);
    EXPECT_EQ(read->base_version, report.base_version);
  }
}

TEST_F(Messages, OrdersReadBackWhateverTheyName) {
  Order order{.kind = OrderKind::kCommit, .index = 1, .number = ~uint64_t(0), .global_step = 3, .pushes = {}};
  for (const size_t count : {0, 1, 2, 1000}) {
    while (order.pushes.size() < count) {
      const auto i = int32_t(order.pushes.size());
      order.pushes.push_back({.trainer = i, .incarnation = ~uint64_t(i), .number = uint64_t(i) << 40});
    }
    const Message there = arrived(make_order(*pool, order));
    ASSERT_TRUE(verify(there));
    EXPECT_TRUE(there.payload().empty());
    const auto read = read_order(there);
    ASSERT_TRUE(read);
    EXPECT_EQ(*read, order);
  }
  for (int kind = int(OrderKind::kCommit); kind <= int(OrderKind::kSeal); ++kind) {
    order.kind = OrderKind(kind);
    const Message there = arrived(make_order(*pool, order));
    ASSERT_TRUE(verify(there));
    EXPECT_EQ(read_order(there)->kind, order.kind);
  }
}

TEST_F(Messages, EqualFieldsMakeEqualBytesInRecycledMemory) {
  const auto build = [&] { return make_control(*pool, "verb", "text", bytes_of("payload")); };
  std::string first, second;
  {
    const Message message = build();
    first = text_of(message.body->bytes());
  }
  {  // The block goes back to the pool with other contents.
    auto dirty = pool->get(first.size());
    std::memset(dirty->data(), 0xee, dirty->size());
  }
  const Message message = build();
  second = text_of(message.body->bytes());
  EXPECT_EQ(first, second);
}

TEST_F(Messages, ReadersRefuseOtherKinds) {
  const Message control = make_control(*pool, "x");
  EXPECT_EQ(read_hello(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_weights(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_chunk(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_snapshot_part(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_report(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_order(control).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_control(make_weights(*pool, 4)).error().kind(), ErrorKind::kInvalidArgument);
  EXPECT_EQ(read_control(Message{}).error().kind(), ErrorKind::kInvalidArgument);
}

// ---- what verify() refuses ----------------------------------------------------------------------------------------------

void expect_refused(const Message& message, const char* what) {
  const auto verified = verify(message);
  ASSERT_FALSE(verified) << what;
  EXPECT_EQ(verified.error().kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(verified.error().message(), HasSubstr(what));
}

TEST_F(Messages, VerifyAcceptsEachKind) {
  for (const Message& message : one_of_each()) EXPECT_TRUE(verify(arrived(message))) << int(message.head.kind);
  Message pull;
  pull.head.kind = MessageKind::kPull;
  EXPECT_TRUE(verify(pull));
}

TEST_F(Messages, VerifyComparesHeadAndBody) {
  Message message = make_control(*pool, "x");
  message.head.kind = MessageKind::kWeights;
  expect_refused(message, "different kinds");
  message.head.kind = MessageKind::kPull;
  expect_refused(message, "a pull has no body");
  message.head.kind = MessageKind(0);
  expect_refused(message, "unknown kind");
  message.head.kind = MessageKind(200);
  expect_refused(message, "unknown kind");
  Message empty;
  expect_refused(empty, "no body");
}

TEST_F(Messages, VerifyChecksRanges) {
  expect_refused(make_chunk(*pool, {.range_begin = 10, .range_end = 9}, 0, 0).message, "ends before it begins");
  expect_refused(make_chunk(*pool, {.range_begin = 0, .range_end = 100}, 99, 0).message, "differ in size");
  expect_refused(make_chunk(*pool, {.chunk_index = 1, .chunk_count = 1}, 0, 0).message, "chunk index");
  expect_refused(make_chunk(*pool, {.chunk_index = 0, .chunk_count = 0}, 0, 0).message, "chunk index");
  expect_refused(make_chunk(*pool, {.encoding = Encoding(0)}, 0, 0).message, "encoding");
  expect_refused(make_chunk(*pool, {.encoding = Encoding(7)}, 0, 0).message, "encoding");
  expect_refused(make_snapshot_part(*pool, {.name = "w", .offset = 0, .total_bytes = 3, .payload = bytes_of("four")}),
                 "beyond its arena");
  expect_refused(make_snapshot_part(*pool, {.name = "w", .offset = 9, .total_bytes = 8}), "beyond its arena");
  expect_refused(
      make_snapshot_part(
          *pool, {.name = "w", .offset = ~uint64_t(0) - 1, .total_bytes = ~uint64_t(0), .payload = bytes_of("wraps")}),
      "beyond its arena");
  expect_refused(make_hello(*pool, {.job = std::string(5000, 'j'), .role = "chief"}), "job identity too long");
  expect_refused(make_hello(*pool, {.role = ""}), "role");
  expect_refused(make_hello(*pool, {.role = "chief", .index = -1}), "task index");
  expect_refused(make_error(*pool, Error(ErrorKind(0), "x")), "kind of error");
  expect_refused(make_error(*pool, Error(ErrorKind(12), "x")), "kind of error");
  expect_refused(make_report(*pool, {.kind = ReportKind(0)}), "unknown report");
  expect_refused(make_report(*pool, {.kind = ReportKind(3)}), "unknown report");
  expect_refused(make_order(*pool, {.kind = OrderKind(0), .pushes = {}}), "unknown order");
  expect_refused(make_order(*pool, {.kind = OrderKind(7), .pushes = {}}), "unknown order");
}

TEST_F(Messages, VerifyNoticesMisalignedMemory) {
  const Message message = make_weights(*pool, 128);
  const auto larger = Buffer::allocate(message.body_bytes() + 64);
  Message shifted;
  shifted.head = message.head;
  // The same bytes 32 further on: a FlatBuffer whose own verifier is content, with a payload at 32 mod 64. The root offset
  // is what changes.
  std::memset(larger->data(), 0, larger->size());
  std::memcpy(larger->data() + 32, message.body->data(), message.body_bytes());
  uint32_t root = 0;
  std::memcpy(&root, message.body->data(), 4);
  root += 32;
  std::memcpy(larger->data(), &root, 4);
  std::memcpy(larger->data() + 4, message.body->data() + 4, 4);
  shifted.body = larger;
  expect_refused(shifted, "payload not aligned");
}

/// A list of pushes that begins 4 bytes later, where FlatBuffers' own verifier lets it.
TEST_F(Messages, VerifyNoticesPushesThatAreNotAligned) {
  const Message message = make_order(*pool, {.index = 1, .pushes = {{0, 1, 2}, {1, 1, 3}}});
  bool noticed = false;
  for (size_t at = 0; at + 4 <= message.body_bytes(); at += 4) {
    Message shifted = arrived(message);
    auto* const bytes = const_cast<std::byte*>(shifted.body->data());
    uint32_t offset = 0;
    std::memcpy(&offset, bytes + at, sizeof offset);
    offset += 4;
    std::memcpy(bytes + at, &offset, sizeof offset);
    const Result<void> verified = verify(shifted);
    noticed |= !verified && verified.error().message().find("pushes not aligned") != std::string::npos;
  }
  EXPECT_TRUE(noticed);
}

TEST_F(Messages, APayloadMayLieBesideTheFlatBuffer) {
  for (const Message& whole : one_of_each()) {
    if (whole.payload().empty()) continue;
    const SplitMessage split(whole);
    EXPECT_TRUE(verify(split.message)) << int(whole.head.kind);
    EXPECT_EQ(text_of(split.message.payload()), text_of(whole.payload()));
    EXPECT_EQ(split.message.payload().data(), split.message.body->rest().data());
  }
  OutgoingChunk chunk = make_chunk(*pool, {.range_begin = 64, .range_end = 320, .position = "here"}, 256, 1);
  chunk.scalars[0] = 2.5;
  const SplitMessage split(chunk.message);
  EXPECT_EQ(read_chunk(split.message)->payload.size(), 256u);
  EXPECT_EQ(read_chunk(split.message)->position, "here");
  EXPECT_EQ(read_chunk(split.message)->scalars[0], 2.5);
}

TEST_F(Messages, APayloadBesideTheFlatBufferIsPutBackInItsPlace) {
  for (const Message& whole : one_of_each()) {
    Message message = whole;
    message.body = whole_body(*pool, whole.body);
    EXPECT_EQ(message.body.get(), whole.body.get()) << "it was in one piece";
    if (whole.payload().empty()) continue;
    const SplitMessage split(whole);
    message.body = whole_body(*pool, split.message.body);
    EXPECT_TRUE(message.body->rest().empty());
    EXPECT_TRUE(verify(message)) << int(whole.head.kind);
    EXPECT_EQ(text_of(message.payload()), text_of(whole.payload()));
  }
}

// Found by fuzzing: whole_body() writes the payload's length there, over whatever it was.
TEST_F(Messages, APayloadBesideTheFlatBufferBelongsAtItsEnd) {
  struct Owner final : BufferOwner {
    void take_back(Buffer*) override {}
  } owner;
  alignas(64) static const std::byte payload[64] = {};
  const Message whole = make_weights(*pool, 0);
  auto longer = Buffer::allocate(whole.body->size() + 64);
  std::memset(longer->data(), 0, longer->size());
  std::memcpy(longer->data(), whole.body->data(), whole.body->size());
  Buffer at_its_end(whole.body->bytes(), payload, owner), before(longer->bytes(), payload, owner);
  Message message = whole;
  message.body = Ref<const Buffer>::adopt(&at_its_end);
  EXPECT_TRUE(verify(message));
  message.body = Ref<const Buffer>::adopt(&before);
  expect_refused(message, "payload not at the end");
  message.body = {};
}

TEST_F(Messages, APayloadBesideTheFlatBufferIsCheckedLikeOneInside) {
  alignas(64) static const std::byte bytes[512] = {};
  SplitMessage chunk(make_chunk(*pool, {.range_end = 256}, 256, 0).message);
  chunk.reset(std::span(bytes).first(255));
  expect_refused(chunk.message, "differ in size");
  chunk.reset(std::span(bytes).subspan(32, 256));
  expect_refused(chunk.message, "not aligned");
  SplitMessage part(make_snapshot_part(*pool, {.name = "w", .total_bytes = 4, .payload = bytes_of("four")}));
  part.reset(std::span(bytes).first(5));
  expect_refused(part.message, "beyond its arena");
  struct Owner final : BufferOwner {
    void take_back(Buffer*) override {}
  } owner;
  for (Message message : {make_weights(*pool, 64), make_error(*pool, unavailable("gone"))}) {
    const Message whole = message;
    const std::span<const std::byte> more = bytes;
    Buffer view(whole.body->bytes(), more.first(64), owner);  // There is a payload inside as well, or none is allowed.
    message.body = Ref<const Buffer>::adopt(&view);
    expect_refused(message, "more bytes than the message has room for");
    message.body = {};
  }
}

TEST_F(Messages, VerifyRefusesEveryTruncation) {
  for (const Message& message : one_of_each()) {
    // The root table lies behind the gap and the payload last, so any prefix cuts something that is needed.
    for (size_t keep = 0; keep < message.body_bytes(); keep += keep < 64 ? 1 : 13) {
      Message cut = arrived(message);
      const_cast<Buffer&>(*cut.body).resize(keep);
      const auto verified = verify(cut);
      if (verified) {  // Only padding behind the last used byte may go.
        EXPECT_GT(keep + 64, message.body_bytes()) << int(message.head.kind) << " cut to " << keep;
      }
    }
  }
}

void read_everything(const Message& message) {
  uint64_t sum = 0;
  const auto add = [&](std::span<const std::byte> bytes) {
    for (std::byte byte : bytes) sum += uint64_t(byte);
  };
  add(message.payload());
  if (auto hello = read_hello(message)) sum += hello->job.size() + hello->numerics.size();
  if (auto control = read_control(message)) add(bytes_of(control->text)), add(bytes_of(control->verb));
  sum += read_error(message).message().size();
  if (auto chunk = read_chunk(message)) {
    add(bytes_of(chunk->position));
    for (double scalar : chunk->scalars) sum += scalar > 0;
    EXPECT_TRUE(chunk->encoding == Encoding::kSparseRows || chunk->range_end - chunk->range_begin == chunk->payload.size());
    EXPECT_LT(chunk->chunk_index, chunk->chunk_count);
  }
  if (auto part = read_snapshot_part(message)) add(bytes_of(part->name));
  if (auto report = read_report(message)) sum += report->push.number;
  if (auto order = read_order(message)) {
    for (const PushId& push : order->pushes) sum += push.incarnation;
  }
  volatile uint64_t sink = sum;
  (void)sink;
}

TEST_F(Messages, NoMutationOfABodyCanDoHarm) {
  const uint64_t seed = 20240607;
  RandomStream random(seed);
  SCOPED_TRACE("seed " + std::to_string(seed));
  int accepted = 0, refused = 0;
  for (const Message& message : one_of_each()) {
    for (int round = 0; round < 20000; ++round) {
      Message mutated = arrived(message);
      auto* bytes = const_cast<std::byte*>(mutated.body->data());
      const size_t count = 1 + random.below(4);
      for (size_t i = 0; i < count; ++i) {
        const size_t at = random.below(4) == 0 ? random.below(8) : random.below(mutated.body_bytes());
        bytes[at] = random.below(2) ? std::byte(random.next_u32()) : bytes[at] ^ std::byte(1u << random.below(8));
      }
      if (random.below(8) == 0) mutated.head.kind = MessageKind(random.below(11));
      if (verify(mutated)) {
        ++accepted;
        read_everything(mutated);  // ASan and UBSan see that nothing is beyond the buffer, and nothing misaligned.
      } else {
        ++refused;
      }
    }
  }
  EXPECT_GT(accepted, 1000);  // Flips of payload bytes are nobody's business here.
  EXPECT_GT(refused, 1000);
}

TEST_F(Messages, RandomBytesAreRefused) {
  const uint64_t seed = 99;
  RandomStream random(seed);
  for (int round = 0; round < 20000; ++round) {
    auto body = Buffer::allocate(random.below(300));
    for (std::byte& byte : body->bytes()) byte = std::byte(random.next_u32());
    Message message;
    message.head.kind = MessageKind(1 + random.below(9));
    message.body = body;
    EXPECT_FALSE(verify(message)) << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace shoal::transport
