// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/event_reader.h"

#include <array>
#include <cmath>
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
  EXPECT_EQ(
      values[2],
      (EventValue{values[0].wall_time, 8, "checkpoint_path", Kind::kText, 0, "m/model.ckpt-8", {}, 0, 0, {}, {}, "text"}));
  EXPECT_EQ(values[3], (EventValue{values[0].wall_time, 9, "weights", Kind::kHistogram, 0, "", histogram}));
}

TEST_F(EventReaderTest, ReadsBackImagesAndTensors) {
  const auto writer = open_writer();
  const std::string png("\x89PNG\0\n", 6);
  const std::array<int64_t, 2> shape{2, 3};
  const std::array<float, 6> values{0, -1, 2.5f, INFINITY, 4, 5};
  const std::array<int64_t, 3> nothing{4, 0, 2};
  ASSERT_TRUE(writer->add_image(7, "input/image/0", {.bytes = png, .width = 28, .height = 14, .channels = 1}));
  ASSERT_TRUE(writer->add_tensor(8, "matrix", {.shape = shape, .values = values, .plugin = "shoal_confusion_matrix"}));
  ASSERT_TRUE(writer->add_tensor(9, "empty", {.shape = nothing, .values = {}, .plugin = "p", .content = "\x08\x01"}));
  ASSERT_TRUE(writer->close());
  const std::vector<EventValue> read = history();
  ASSERT_THAT(read, SizeIs(3));
  EXPECT_EQ(read[0].kind, EventValue::Kind::kImage);
  EXPECT_EQ(read[0].text, png);
  EXPECT_EQ(read[0].width, 28);
  EXPECT_EQ(read[0].height, 14);
  EXPECT_EQ(read[1].kind, EventValue::Kind::kTensor);
  EXPECT_THAT(read[1].shape, ElementsAre(2, 3));
  EXPECT_THAT(read[1].values, ::testing::ElementsAreArray(values));
  EXPECT_EQ(read[1].plugin, "shoal_confusion_matrix");
  EXPECT_EQ(read[2].kind, EventValue::Kind::kTensor);
  EXPECT_THAT(read[2].shape, ElementsAre(4, 0, 2));
  EXPECT_THAT(read[2].values, IsEmpty());
}

/// Values that the writer did not make: protobuf by hand. All lengths are below 128.
class ForeignEvents : public EventReaderTest {
 protected:
  static std::string field(int number, const std::string& bytes) {
    return std::string{char(number << 3 | 2), char(bytes.size())} + bytes;
  }
  static std::string varint_field(int number, uint64_t value) {
    std::string bytes{char(number << 3)};
    for (; value >= 128; value >>= 7) bytes += char(value | 128);
    return bytes + char(value);
  }
  static std::string dim(uint64_t size) { return field(2, varint_field(1, size)); }
  static std::string plugin(const std::string& name) { return field(9, field(1, field(1, name))); }
  /// The only value of a file whose only value this is.
  EventValue only(const std::string& value) {
    overwrite(folder.path() + "/events.out.tfevents.1", record(field(5, field(1, field(1, "tag") + value))));
    const std::vector<EventValue> values = history();
    EXPECT_THAT(values, SizeIs(1));
    return values.empty() ? EventValue{} : values[0];
  }
  /// A tensor of floats with these dimensions (encoded) and bytes.
  EventValue only_floats(const std::string& dims, const std::string& content) {
    return only(field(8, varint_field(1, 1) + field(2, dims) + field(4, content)));
  }
};

TEST_F(ForeignEvents, ImagesOfTensorFlow2AreTextsOfSizeAndImages) {
  const std::string texts =
      varint_field(1, 7) + field(2, dim(4)) + field(8, "28") + field(8, "14") + field(8, "one") + field(8, "two");
  for (const std::string& value : {field(8, texts) + plugin("images"), plugin("images") + field(8, texts)}) {
    const EventValue image = only(value);
    EXPECT_EQ(image.kind, EventValue::Kind::kImage);
    EXPECT_EQ(image.width, 28);
    EXPECT_EQ(image.height, 14);
    EXPECT_EQ(image.text, "one");
  }
  const EventValue without = only(field(8, varint_field(1, 7) + field(8, "28") + field(8, "14")) + plugin("images"));
  EXPECT_EQ(without.kind, EventValue::Kind::kOther);
  EXPECT_EQ(only(field(8, texts) + plugin("text")).text, "28\n14\none\ntwo");
}

TEST_F(ForeignEvents, ATensorOfOneElementIsAScalarUnlessItHasAxes) {
  const std::string one("\0\0\x80\x3f", 4);
  EXPECT_EQ(only_floats("", one).kind, EventValue::Kind::kScalar);
  EXPECT_EQ(only_floats(dim(1), one).scalar, 1);
  EXPECT_EQ(only_floats(dim(1) + dim(1), one).kind, EventValue::Kind::kTensor);
  const EventValue hparams = only(field(8, varint_field(1, 1) + field(2, dim(1)) + field(4, one)) + plugin("hparams"));
  EXPECT_EQ(hparams.kind, EventValue::Kind::kOther) << "the tensor of hyper-parameters means nothing";
  EXPECT_EQ(hparams.plugin, "hparams");
}

TEST_F(ForeignEvents, AShapeThatDoesNotFitIsNoTensor) {
  const std::string two("\0\0\x80\x3f\0\0\0\0", 8);
  EXPECT_EQ(only_floats(dim(2), two).kind, EventValue::Kind::kTensor);
  EXPECT_EQ(only_floats(dim(1) + dim(2), two).kind, EventValue::Kind::kTensor);
  const uint64_t half = uint64_t(1) << 63, minus = ~uint64_t(0), large = uint64_t(1) << 62;
  for (const std::string& dims :
       {std::string(), dim(3), dim(1), dim(0), dim(minus), dim(minus) + dim(minus) + dim(2), dim(half) + dim(2),
        dim(large) + dim(4) + dim(2), dim(0) + dim(minus), dim(large) + dim(0)}) {
    EXPECT_EQ(only_floats(dims, two).kind, EventValue::Kind::kOther);
  }
  std::string many = dim(2);
  for (int i = 0; i < 8; ++i) many += dim(1);
  EXPECT_EQ(only_floats(many, two).kind, EventValue::Kind::kOther) << "nine axes";
  EXPECT_EQ(only_floats(dim(2), two.substr(0, 7)).kind, EventValue::Kind::kOther) << "no whole floats";
  EXPECT_EQ(only_floats(dim(large) + dim(0), "").kind, EventValue::Kind::kTensor);
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

/// Every kind of value, with contents by chance, comes back as it was written.
TEST_F(EventReaderTest, WhatIsWrittenComesBack) {
  const uint64_t seed = 20261129;
  std::mt19937_64 random(seed);
  const auto bytes = [&] {
    std::string text(size_t(random() % 300), '\0');
    for (char& c : text) c = char(random());
    return text;
  };
  const auto number = [&] { return float(int64_t(random())) / 1e9f; };
  const auto writer = open_writer();
  std::vector<EventValue> written;
  for (int i = 0; i < 500; ++i) {
    EventValue value;
    value.global_step = int64_t(random());
    value.tag = bytes();
    switch (random() % 5) {
      case 0:
        value.kind = EventValue::Kind::kScalar;
        value.scalar = double(number());
        ASSERT_TRUE(writer->add_scalar(value.global_step, value.tag, value.scalar));
        break;
      case 1:
        value.kind = EventValue::Kind::kText;
        value.text = bytes();
        value.plugin = "text";
        ASSERT_TRUE(writer->add_text(value.global_step, value.tag, value.text));
        break;
      case 2: {
        value.kind = EventValue::Kind::kHistogram;
        std::vector<float> numbers(size_t(random() % 50));
        for (float& n : numbers) n = number();
        value.histogram = make_histogram(numbers);
        ASSERT_TRUE(writer->add_histogram(value.global_step, value.tag, value.histogram));
        break;
      }
      case 3: {
        value.kind = EventValue::Kind::kImage;
        value.text = bytes();
        value.width = int64_t(random() % INT32_MAX) + 1;
        value.height = int64_t(random() % INT32_MAX) + 1;
        const EncodedImage image{
            .bytes = value.text, .width = value.width, .height = value.height, .channels = int(random() % 4) + 1};
        ASSERT_TRUE(writer->add_image(value.global_step, value.tag, image));
        break;
      }
      default: {
        value.kind = EventValue::Kind::kTensor;
        int64_t elements = 1;
        for (uint64_t axis = 0; axis < 2 + random() % 5; ++axis) {
          value.shape.push_back(int64_t(random() % 4));
          elements *= value.shape.back();
        }
        for (int64_t e = 0; e < elements; ++e) value.values.push_back(number());
        value.plugin = bytes();
        const std::string content = bytes();
        ASSERT_TRUE(
            writer->add_tensor(value.global_step, value.tag,
                               {.shape = value.shape, .values = value.values, .plugin = value.plugin, .content = content}));
      }
    }
    written.push_back(value);
  }
  ASSERT_TRUE(writer->close());
  const std::vector<EventValue> read = history();
  ASSERT_EQ(read.size(), written.size());
  for (size_t i = 0; i < read.size(); ++i) {
    written[i].wall_time = read[i].wall_time;
    EXPECT_EQ(read[i], written[i]) << "seed " << seed << " value " << i;
  }
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

TEST_F(EventReaderTest, TellsOfStartsWhereTheyStand) {
  const auto writer = open_writer();
  ASSERT_TRUE(writer->add_start(1));
  ASSERT_TRUE(writer->add_scalar(1, "loss", 0.5));
  ASSERT_TRUE(writer->add_scalar(2, "loss", 0.25));
  ASSERT_TRUE(writer->add_start(2));
  ASSERT_TRUE(writer->flush());
  EventFileReader reader(env.storage(), writer->path());
  const auto steps = [&reader] {
    std::vector<int64_t> found;
    for (const EventStart& start : reader.take_starts()) found.push_back(start.first_step);
    return found;
  };
  EventValue value;
  ASSERT_TRUE(*reader.next(value));
  EXPECT_THAT(steps(), ElementsAre(1));
  ASSERT_TRUE(*reader.next(value));
  EXPECT_THAT(steps(), IsEmpty());
  ASSERT_FALSE(*reader.next(value));  // The start comes although no value follows it yet.
  EXPECT_THAT(steps(), ElementsAre(2));
}

TEST_F(EventReaderTest, OtherSessionRecordsAreNoStarts) {
  // A SessionLog with status 2 (STOP), one without status, and an event with nothing in it.
  overwrite(folder.path() + "/events.out.tfevents.1.h",
            record("\x10\x05\x3a\x02\x08\x02") + record("\x3a" + std::string(1, '\0')) + record(""));
  EventFileReader reader(env.storage(), folder.path() + "/events.out.tfevents.1.h");
  EventValue value;
  const Result<bool> found = reader.next(value);
  ASSERT_TRUE(found) << found.error().message();
  EXPECT_FALSE(*found);
  EXPECT_THAT(reader.take_starts(), IsEmpty());
}

}  // namespace
}  // namespace shoal::monitor
