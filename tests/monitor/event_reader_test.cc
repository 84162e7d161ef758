// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/event_reader.h"

#include <array>
#include <random>

#include "fixture.h"

namespace shoal::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

/// The masked CRC-32C of `bytes`, as it stands in a file.
std::string checksum(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (const char byte : bytes) {
    crc ^= uint8_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0u);
  }
  crc = ~crc;
  const uint32_t masked = ((crc >> 15) | (crc << 17)) + 0xa282ead8u;
  std::string text;
  for (int shift = 0; shift < 32; shift += 8) text += char(masked >> shift & 255);
  return text;
}

std::string record(const std::string& payload) {
  std::string length(8, '\0');
  length[0] = char(payload.size());
  return length + checksum(length) + payload + checksum(payload);
}

class EventReaderTest : public testing::EventFiles {
 protected:
  std::vector<EventValue> history(size_t damaged_files = 0) {
    std::vector<EventValue> values;
    const auto damage = read_events(env.storage(), folder.path(), [&](const EventValue& value) {
      values.push_back(value);
      return true;
    });
    EXPECT_TRUE(damage);
    if (damage) {
      EXPECT_THAT(*damage, SizeIs(damaged_files));
    }
    return values;
  }
  /// A file of `count` losses; returns its path.
  std::string losses(int64_t first_step, int64_t count) {
    const auto writer = open_writer();
    for (int64_t step = first_step; step < first_step + count; ++step) {
      SHOAL_CHECK(writer->add_scalar(step, "loss", double(step) / 2).has_value());
    }
    world.run_for(std::chrono::seconds(1));
    return writer->path();
  }
};

TEST_F(EventReaderTest, ReadsBackWhatWasWritten) {
  const auto writer = open_writer();
  const std::array scalars{Scalar{"accuracy", 0.25}, Scalar{"loss", 1.5}};
  const Histogram histogram = make_histogram(std::vector<float>{1, 2, 3});
  world.run_for(std::chrono::milliseconds(1500));
  ASSERT_TRUE(writer->add_scalars(7, scalars));
  ASSERT_TRUE(writer->add_text(8, "checkpoint_path", "m/model.ckpt-8"));
  ASSERT_TRUE(writer->add_histogram(9, "weights", histogram));
  ASSERT_TRUE(writer->close());
  const std::vector<EventValue> values = history();
  ASSERT_THAT(values, SizeIs(4));
  const double now = std::chrono::duration<double>(env.wall_now().time_since_epoch()).count();
  for (const EventValue& value : values) EXPECT_NEAR(value.wall_time, now, 2e-6);
  using Kind = EventValue::Kind;
  EXPECT_EQ(values[0], (EventValue{values[0].wall_time, 7, "accuracy", Kind::kScalar, 0.25, "", {}}));
  EXPECT_EQ(values[1], (EventValue{values[0].wall_time, 7, "loss", Kind::kScalar, 1.5, "", {}}));
  EXPECT_EQ(values[2], (EventValue{values[0].wall_time, 8, "checkpoint_path", Kind::kText, 0, "m/model.ckpt-8", {}}));
  EXPECT_EQ(values[3], (EventValue{values[0].wall_time, 9, "weights", Kind::kHistogram, 0, "", histogram}));
}

TEST_F(EventReaderTest, SeveralFilesAreOneHistory) {
  losses(0, 3);
  losses(2, 2);  // The run was resumed: the step went back.
  losses(4, 1);
  overwrite(folder.path() + "/model.ckpt-5.index", "not events");
  std::vector<int64_t> steps;
  for (const EventValue& value : history()) steps.push_back(value.global_step);
  EXPECT_THAT(steps, ElementsAre(0, 1, 2, 2, 3, 4));
}

TEST_F(EventReaderTest, StopsWhenTheVisitorHasEnough) {
  losses(0, 100);
  int seen = 0;
  ASSERT_TRUE(read_events(env.storage(), folder.path(), [&](const EventValue&) { return ++seen < 3; }));
  EXPECT_EQ(seen, 3);
}

TEST_F(EventReaderTest, AMissingFolderHasNoEvents) {
  EXPECT_THAT(*read_events(env.storage(), folder.path() + "/none", [](const EventValue&) { return true; }), IsEmpty());
}

TEST_F(EventReaderTest, FollowsAFileThatGrowsByteByByte) {
  const std::string path = losses(0, 20);
  const std::string whole = contents(path);
  overwrite(path, "");
  EventFileReader reader(env.storage(), path);
  std::ofstream growing(path, std::ios::binary | std::ios::app);
  std::vector<EventValue> seen;
  for (size_t at = 0; at < whole.size(); ++at) {
    growing.put(whole[at]).flush();
    for (const EventValue& value : drain(reader)) seen.push_back(value);
    EventValue none;
    const Result<bool> more = reader.next(none);
    ASSERT_TRUE(more) << more.error().message();
    ASSERT_FALSE(*more);
  }
  ASSERT_THAT(seen, SizeIs(20));
  for (int64_t step = 0; step < 20; ++step) EXPECT_EQ(seen[size_t(step)].global_step, step);
  EXPECT_FALSE(reader.cut());
}

TEST_F(EventReaderTest, ReadsWhileTheWriterWrites) {
  const auto writer = open_writer();
  EventFileReader reader(env.storage(), writer->path());
  for (int64_t step = 0; step < 50; ++step) {
    ASSERT_TRUE(writer->add_scalar(step, "loss", 1));
    ASSERT_TRUE(writer->flush());
    const std::vector<EventValue> values = drain(reader);
    ASSERT_THAT(values, SizeIs(1));
    EXPECT_EQ(values[0].global_step, step);
  }
}

TEST_F(EventReaderTest, ACutLastRecordIsNoError) {
  const std::string path = losses(0, 5);
  const std::string whole = contents(path);
  const size_t record = (whole.size() - 40) / 5;  // Roughly the record of one scalar; the count below is what matters.
  for (size_t cut = 1; cut < record; ++cut) {
    overwrite(path, whole.substr(0, whole.size() - cut));
    EXPECT_THAT(history(), SizeIs(4)) << cut;
    EventFileReader reader(env.storage(), path);
    EXPECT_THAT(drain(reader), SizeIs(4));
    EXPECT_TRUE(reader.cut());
  }
}

TEST_F(EventReaderTest, ADamagedFileIsReadUpToTheDamageAndReported) {
  const std::string path = losses(0, 5);
  losses(100, 2);
  const std::string whole = contents(path);
  size_t most = 0;
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = char(damaged[at] ^ 0x10);
    overwrite(path, damaged);
    const std::vector<EventValue> values = history(1);
    ASSERT_GE(values.size(), 2u);
    EXPECT_EQ(values.back().global_step, 101);  // The next file is read all the same.
    for (size_t i = 0; i + 2 < values.size(); ++i) EXPECT_EQ(values[i].global_step, int64_t(i));
    most = std::max(most, values.size());
  }
  EXPECT_EQ(most, 6u);  // Damage in the last record leaves four losses, and the other file's two.
}

TEST_F(EventReaderTest, DamageStays) {
  const std::string path = losses(0, 5);
  std::string damaged = contents(path);
  damaged[damaged.size() / 2] ^= 1;
  overwrite(path, damaged);
  EventFileReader reader(env.storage(), path);
  drain(reader);
  EventValue value;
  for (int i = 0; i < 3; ++i) {
    const Result<bool> again = reader.next(value);
    ASSERT_FALSE(again);
    EXPECT_EQ(again.error().kind(), ErrorKind::kDataLoss);
    EXPECT_THAT(again.error().message(), HasSubstr(path + ": the record at byte "));
  }
}

TEST_F(EventReaderTest, ALengthFromTheFileAllocatesNothing) {
  // A head that is right in itself and promises 2^61 bytes: they never come.
  const std::string path = folder.path() + "/events.out.tfevents.1";
  std::string head("\0\0\0\0\0\0\0\x20", 8);
  overwrite(path, head + checksum(head) + "some bytes");
  EXPECT_THAT(history(), IsEmpty());
}

TEST_F(EventReaderTest, FieldsOfAnotherFormArePassedOver) {
  // wall_time 1.5; then what no writer writes: wall_time as a varint, step as four bytes, summary as a number; then the
  // step 10 and a summary whose value has a tag as a number, the tag "a", a simple_value as text, the simple_value 1.
  const std::string wall_time = std::string("\x09\0\0\0\0\0\0\xf8\x3f", 9), others("\x08\x05\x15\1\2\3\4\x28\x07", 9);
  const std::string value("\x08\x03\x0a\x01\x61\x12\x01\x62\x15\0\0\x80\x3f", 13);
  const std::string summary = std::string("\x2a\x0f\x0a\x0d", 4) + value;
  overwrite(folder.path() + "/events.out.tfevents.1", record(wall_time + others + std::string("\x10\x0a", 2) + summary));
  const std::vector<EventValue> values = history();
  ASSERT_THAT(values, SizeIs(1));
  EXPECT_EQ(values[0].wall_time, 1.5);
  EXPECT_EQ(values[0].global_step, 10);
  EXPECT_EQ(values[0].tag, "a");
  EXPECT_EQ(values[0].kind, EventValue::Kind::kScalar);
  EXPECT_EQ(values[0].scalar, 1.0);
}

TEST_F(EventReaderTest, AnyBytesAreRefusedOrWaitedFor) {
  const uint64_t seed = 99;
  std::mt19937_64 random(seed);
  const std::string path = losses(0, 3);
  const std::string whole = contents(path);
  for (int round = 0; round < 500; ++round) {
    std::string changed = whole.substr(0, size_t(random() % whole.size()));
    for (int i = 0; i < 20; ++i) changed += char(random());
    overwrite(path, changed);
    EventFileReader reader(env.storage(), path);
    EXPECT_LE(drain(reader).size(), 3u) << "seed " << seed << " round " << round;
  }
}

}  // namespace
}  // namespace shoal::monitor
