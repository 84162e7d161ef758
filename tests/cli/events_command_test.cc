// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>

#include "fixture.h"
#include "shoal/base/virtual.h"
#include "shoal/monitor/event_writer.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;
using ::testing::SizeIs;

class EventsCommand : public testing::InFolder {
 protected:
  /// One file with two losses, an evaluation's path and a histogram; returns its name.
  std::string write_events(int64_t first_step) {
    auto opened = monitor::EventWriter::open(env, folder, {.host = "h"});
    SHOAL_CHECK(opened.has_value());
    monitor::EventWriter& writer = **opened;
    SHOAL_CHECK(writer.add_scalar(first_step, "loss", 0.5).has_value());
    SHOAL_CHECK(writer.add_scalar(first_step + 1, "loss", NAN).has_value());
    SHOAL_CHECK(writer.add_text(first_step + 1, "checkpoint_path", "m/model.ckpt-1").has_value());
    SHOAL_CHECK(
        writer.add_histogram(first_step + 1, "kernel", monitor::make_histogram(std::vector<float>{1, 3})).has_value());
    SHOAL_CHECK(writer.close().has_value());
    world.run_for(std::chrono::seconds(5));
    return writer.path().substr(folder.size() + 1);
  }

  VirtualWorld world{3};
  Environment& env = world.add_task();
};

TEST_F(EventsCommand, PrintsOneLinePerValueInFileOrder) {
  write_events(10);
  write_events(5);
  const std::string before = everything();
  const Output run = shoal_program({"events", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  const std::vector<Json> lines = run.lines();
  ASSERT_THAT(lines, SizeIs(8));
  EXPECT_EQ(lines[0]["step"], 10);
  EXPECT_EQ(lines[0]["tag"], "loss");
  EXPECT_EQ(lines[0]["value"], 0.5);
  EXPECT_TRUE(lines[0]["wall_time"].is_number_float());
  EXPECT_EQ(lines[1]["value"], "NaN");
  EXPECT_EQ(lines[2]["value"], "m/model.ckpt-1");
  EXPECT_EQ(lines[3]["value"], (Json{{"count", 2.0}, {"min", 1.0}, {"max", 3.0}, {"sum", 4.0}, {"sum_squares", 10.0}}));
  EXPECT_EQ(lines[4]["step"], 5);
  EXPECT_EQ(lines[4]["wall_time"].get<double>() - lines[0]["wall_time"].get<double>(), 5.0);
  EXPECT_EQ(everything(), before);
}

TEST_F(EventsCommand, PrintsImagesAsSizesAndTensorsInRows) {
  auto writer = value_or_raise(monitor::EventWriter::open(env, folder, {.host = "h"}));
  ASSERT_TRUE(writer->add_image(1, "eye", {.bytes = "four", .width = 20, .height = 10, .channels = 3}));
  const std::array<int64_t, 2> shape{2, 3}, large{40, 40};
  const std::array<float, 6> values{1, 2, 3, NAN, 5, 6};
  ASSERT_TRUE(writer->add_tensor(2, "m", {.shape = shape, .values = values, .plugin = "shoal_confusion_matrix"}));
  ASSERT_TRUE(writer->add_tensor(3, "l", {.shape = large, .values = std::vector<float>(1600), .plugin = "p"}));
  ASSERT_TRUE(writer->close());
  const Output run = shoal_program({"events", folder});
  EXPECT_EQ(run.status, 0);
  const std::vector<Json> lines = run.lines();
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_EQ(lines[0]["value"], (Json{{"width", 20}, {"height", 10}, {"bytes", 4}}));
  EXPECT_FALSE(lines[0].contains("plugin"));
  EXPECT_EQ(lines[1]["plugin"], "shoal_confusion_matrix");
  EXPECT_EQ(lines[1]["value"], (Json{{"shape", {2, 3}}, {"values", {{1.0, 2.0, 3.0}, {"NaN", 5.0, 6.0}}}}));
  EXPECT_EQ(lines[2]["value"], (Json{{"shape", {40, 40}}})) << "the values of a large tensor are left out";
}

TEST_F(EventsCommand, TellsOfBytesThatJsonCannotHold) {
  auto writer = value_or_raise(monitor::EventWriter::open(env, folder, {.host = "h"}));
  ASSERT_TRUE(writer->add_text(1, "note", "caf\xe9"));
  ASSERT_TRUE(writer->close());
  const Output run = shoal_program({"events", folder});
  EXPECT_EQ(run.lines()[0]["value"], "caf\xEF\xBF\xBD");
  EXPECT_THAT(run.err, HasSubstr("1 events have text that is no UTF-8"));
}

TEST_F(EventsCommand, CanBeNarrowedToATag) {
  write_events(10);
  EXPECT_THAT(shoal_program({"events", folder, "--tag", "loss"}).lines(), SizeIs(2));
  EXPECT_THAT(shoal_program({"events", folder, "--tag", "none"}).lines(), SizeIs(0));
}

TEST_F(EventsCommand, AnEmptyFolderHasNoneAndAMissingOneIsAnError) {
  const Output empty = shoal_program({"events", folder});
  EXPECT_EQ(empty.status, 0);
  EXPECT_EQ(empty.out, "");
  const Output missing = shoal_program({"events", folder + "/none"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr(folder + "/none"));
}

TEST_F(EventsCommand, ACutLastRecordIsLeftOut) {
  const std::string name = write_events(10);
  write(name, read(name).substr(0, read(name).size() - 1));
  const Output run = shoal_program({"events", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_THAT(run.lines(), SizeIs(3));
}

TEST_F(EventsCommand, DamageIsToldAndEndsWithFour) {
  const std::string name = write_events(10);
  write_events(20);
  std::string text = read(name);
  text[text.size() / 2] ^= 1;
  write(name, text);
  const Output run = shoal_program({"events", folder});
  EXPECT_EQ(run.status, 4);
  EXPECT_THAT(run.err, HasSubstr("shoal: event file " + folder + "/" + name + ": the record at byte "));
  EXPECT_EQ(run.lines().back()["step"], 21);  // The other file is read all the same.
}

}  // namespace
}  // namespace shoal::cli
