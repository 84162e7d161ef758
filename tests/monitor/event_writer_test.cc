// SPDX-License-Identifier: Apache-2.0
#include "shoal/monitor/event_writer.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdio>

#include "fixture.h"
#include "shoal/base/memory_storage.h"

namespace shoal::monitor {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;

/// CRC-32C bit by bit, from the polynomial alone: what the fast one is compared with.
uint32_t slow_crc32c(std::string_view bytes) {
  uint32_t crc = ~0u;
  for (char byte : bytes) {
    crc ^= uint8_t(byte);
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) ? 0x82f63b78u : 0u);
  }
  return ~crc;
}

TEST(Crc32cOracle, MatchesRfc3720) {
  EXPECT_EQ(slow_crc32c("123456789"), 0xe3069283u);
  EXPECT_EQ(slow_crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(slow_crc32c(std::string(32, '\xff')), 0x62a8ab43u);
}

uint64_t load(std::string_view bytes, size_t count) {
  uint64_t value = 0;
  for (size_t i = 0; i < count; ++i) value |= uint64_t(uint8_t(bytes[i])) << (8 * i);
  return value;
}

/// The payloads of a file, every frame checked against the TFRecord description.
std::vector<std::string> payloads(std::string_view file) {
  const auto masked = [](std::string_view bytes) {
    const uint32_t crc = slow_crc32c(bytes);
    return uint32_t(((crc >> 15) | (crc << 17)) + 0xa282ead8u);
  };
  std::vector<std::string> found;
  while (!file.empty()) {
    const uint64_t length = load(file, 8);
    EXPECT_EQ(load(file.substr(8), 4), masked(file.substr(0, 8)));
    const std::string_view payload = file.substr(12, length);
    EXPECT_EQ(load(file.substr(12 + length), 4), masked(payload));
    found.emplace_back(payload);
    file.remove_prefix(16 + length);
  }
  return found;
}

using EventWriterTest = testing::EventFiles;

TEST_F(EventWriterTest, FramesRecordsAsTfRecord) {
  const auto writer = open_writer();
  for (int i = 0; i < 70; ++i) {  // The payloads have all lengths modulo four.
    ASSERT_TRUE(writer->add_text(i, std::string(size_t(i), 't'), "text"));
  }
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(payloads(contents(writer->path())).size(), 71u);
}

TEST_F(EventWriterTest, NamesFilesForTensorBoardInOrderOfOpening) {
  std::vector<std::string> paths;
  for (int i = 0; i < 20; ++i) {
    paths.push_back(open_writer()->path());
    world.run_for(std::chrono::milliseconds(300));
  }
  for (const std::string& path : paths) {
    EXPECT_THAT(path.substr(folder.path().size() + 1),
                MatchesRegex("events\\.out\\.tfevents\\.[0-9]{10}\\.testhost\\.[0-9]{9}-[0-9a-f]{8}"));
  }
  const auto listed = list_event_files(env.storage(), folder.path());
  ASSERT_TRUE(listed);
  EXPECT_EQ(*listed, paths);
}

/// CONTRACT RU-5: the order of the files, by which readers tell what is later, is that of opening, whatever the clock says.
TEST_F(EventWriterTest, NamesComeBehindAllThatAreThereAlsoWhenTheClockGoesBack) {
  Duration ahead{};
  const auto clock = [&ahead](SteadyTime now) {
    return WallTime(std::chrono::hours(500'000) + now.time_since_epoch() + ahead);
  };
  Environment& jumping = world.add_task({.wall_clock = clock});
  std::vector<std::string> paths;
  for (const Duration jump : {Duration(0), Duration(std::chrono::hours(-1)), Duration(std::chrono::hours(24 * 365)),
                              Duration(std::chrono::hours(-2)), Duration(0)}) {
    ahead = jump;
    for (const char* host : {"b", "a"}) {  // The host comes before the parts of a second.
      paths.push_back(value_or_raise(EventWriter::open(jumping, folder.path(), {.host = host}))->path());
      world.run_for(std::chrono::milliseconds(1));
    }
  }
  EXPECT_EQ(*list_event_files(env.storage(), folder.path()), paths);
}

TEST_F(EventWriterTest, NamesComeBehindThoseOfOtherPrograms) {
  overwrite(folder.path() + "/events.out.tfevents.5000000000.somebody.v2", "");
  overwrite(folder.path() + "/events.out.tfevents.notes", "");
  EXPECT_THAT(open_writer()->path(), HasSubstr("events.out.tfevents.5000000001.testhost.000000000-"));
  overwrite(folder.path() + "/events.out.tfevents.9999999999.somebody.v2", "");
  EXPECT_THAT(open_writer()->path(), HasSubstr("events.out.tfevents.1")) << "no name of ten digits comes behind that";
}

TEST_F(EventWriterTest, NamesFilesAfterTheHostThatTheEnvironmentKnows) {
  Environment& elsewhere = world.add_task({.process = {.host_name = "node-17"}});
  const auto writer = value_or_raise(EventWriter::open(elsewhere, folder.path(), {}));
  EXPECT_THAT(writer->path(), HasSubstr(".node-17."));
}

TEST_F(EventWriterTest, AHostNameCannotLeadOutOfTheFolder) {
  EXPECT_THAT(open_writer({.host = "../../evil"})->path(), HasSubstr(folder.path() + "/events.out.tfevents."));
  EXPECT_THAT(*list_event_files(env.storage(), folder.path()), ::testing::SizeIs(1));
}

TEST_F(EventWriterTest, BuffersUntilTheIntervalIsOver) {
  const auto writer = open_writer({.flush_interval = std::chrono::seconds(10)});
  const size_t after_opening = contents(writer->path()).size();
  EXPECT_GT(after_opening, 0u);  // The version record is there: readers know the file at once.
  ASSERT_TRUE(writer->add_scalar(1, "loss", 0.5));
  world.run_for(std::chrono::seconds(9));
  ASSERT_TRUE(writer->add_scalar(2, "loss", 0.4));
  EXPECT_EQ(contents(writer->path()).size(), after_opening);
  world.run_for(std::chrono::seconds(1));
  ASSERT_TRUE(writer->add_scalar(3, "loss", 0.3));
  EXPECT_EQ(payloads(contents(writer->path())).size(), 4u);
  ASSERT_TRUE(writer->add_scalar(4, "loss", 0.2));
  EXPECT_EQ(payloads(contents(writer->path())).size(), 4u);
  ASSERT_TRUE(writer->flush());
  EXPECT_EQ(payloads(contents(writer->path())).size(), 5u);
}

TEST_F(EventWriterTest, AFailedWriteIsReportedWithPathAndStays) {
  const auto writer = open_writer({.flush_interval = std::chrono::hours(1), .buffer_bytes_max = 100});
  world.kill(env);  // From now on its storage refuses every write.
  Result<void> failed = writer->add_text(1, "note", std::string(200, 'x'));
  ASSERT_FALSE(failed);
  EXPECT_THAT(failed.error().message(), HasSubstr("event file " + writer->path()));
  EXPECT_EQ(writer->add_scalar(2, "loss", 1).error(), failed.error());
  EXPECT_EQ(writer->flush().error(), failed.error());
  EXPECT_EQ(writer->close().error(), failed.error());
}

/// A disk that is full for a while, under a run that goes on.
TEST_F(EventWriterTest, AFailureIsEnduredWhereThatIsAskedFor) {
  const std::shared_ptr<Storage> disk = make_memory_storage({.capacity_bytes = 4096});
  std::vector<std::string> warnings;
  Environment& task =
      world.add_task({.sink = [&](const LogRecord& record) { warnings.emplace_back(record.message); }, .storage = disk});
  ASSERT_TRUE(disk->make_folders("m"));
  const auto writer = value_or_raise(EventWriter::open(
      task, "m", {.flush_interval = {}, .host = "testhost", .makes_folder = false, .survives_failure = true}));
  ASSERT_TRUE(writer->add_scalar(1, "loss", 1));
  const std::string first = writer->path();
  ASSERT_TRUE(disk->make_folders("fillers"));
  const auto fill = [&] {
    for (size_t bytes = 2048; bytes > 0; bytes /= 2) {
      const auto filler = value_or_raise(disk->create("fillers/" + std::to_string(bytes)));
      (void)filler->append(std::vector<std::byte>(bytes));
      (void)filler->close();
    }
  };
  fill();
  EXPECT_TRUE(writer->add_scalar(2, "loss", 2));
  EXPECT_TRUE(writer->add_scalar(3, "loss", 3));
  EXPECT_THAT(warnings, ElementsAre(HasSubstr("; events of the next minute are dropped, and the run continues")));
  world.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(writer->add_scalar(4, "loss", 4)) << "it is still full";
  EXPECT_EQ(warnings.size(), 2u);
  ASSERT_TRUE(disk->remove_all("fillers"));
  EXPECT_TRUE(writer->add_scalar(5, "loss", 5)) << "the minute is not over";
  world.run_for(std::chrono::minutes(1));
  EXPECT_TRUE(writer->add_scalar(6, "loss", 6));
  EXPECT_NE(writer->path(), first);
  EXPECT_TRUE(writer->close());
  EXPECT_FALSE(writer->add_scalar(7, "loss", 7));
  std::vector<int64_t> steps;
  const auto damaged = read_events(*disk, "m", [&](const EventValue& value) {
    steps.push_back(value.global_step);
    return true;
  });
  ASSERT_TRUE(damaged);
  EXPECT_TRUE(damaged->empty());
  EXPECT_THAT(steps, ElementsAre(1, 6));
}

TEST_F(EventWriterTest, RefusesAfterClose) {
  const auto writer = open_writer();
  ASSERT_TRUE(writer->close());
  EXPECT_TRUE(writer->close());
  const Result<void> late = writer->add_scalar(1, "loss", 1);
  ASSERT_FALSE(late);
  EXPECT_THAT(late.error().message(), HasSubstr(writer->path()));
}

TEST_F(EventWriterTest, RefusesImagesAndTensorsThatDoNotFit) {
  const auto writer = open_writer();
  const EncodedImage good{.bytes = "png", .width = 1, .height = 1, .channels = 4};
  const auto refused = [&](auto change) {
    EncodedImage image = good;
    change(image);
    const Result<void> result = writer->add_image(1, "eye", image);
    return !result && result.error().kind() == ErrorKind::kInvalidArgument &&
           result.error().message().find("image eye: its size is ") != std::string::npos;
  };
  EXPECT_TRUE(refused([](EncodedImage& image) { image.width = 0; }));
  EXPECT_TRUE(refused([](EncodedImage& image) { image.height = -1; }));
  EXPECT_TRUE(refused([](EncodedImage& image) { image.width = int64_t(1) << 31; }));
  EXPECT_TRUE(refused([](EncodedImage& image) { image.channels = 0; }));
  EXPECT_TRUE(refused([](EncodedImage& image) { image.channels = 5; }));
  const std::array<int64_t, 2> shape{2, 2};
  const std::array<float, 3> values{};
  const Result<void> tensor = writer->add_tensor(1, "t", {.shape = shape, .values = values, .plugin = "p"});
  ASSERT_FALSE(tensor);
  EXPECT_EQ(tensor.error().message(), "tensor t: its shape does not have 3 elements, as many as there are values");
  EXPECT_TRUE(writer->add_image(1, "eye", good)) << "a refusal is not kept";
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(payloads(contents(writer->path())).size(), 2u) << "the version, and the image";
}

TEST_F(EventWriterTest, AFolderThatCannotBeMadeIsAnError) {
  overwrite(folder.path() + "/file", "");
  const auto writer = EventWriter::open(env, folder.path() + "/file/eval");
  ASSERT_FALSE(writer);
  EXPECT_THAT(writer.error().message(), HasSubstr(folder.path() + "/file"));
}

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (!pipe) return "cannot run " + command;
  std::array<char, 4096> block;
  for (size_t count; (count = fread(block.data(), 1, block.size(), pipe)) > 0;) output.append(block.data(), count);
  if (const int status = pclose(pipe); status != 0) output += "status " + std::to_string(status);
  return output;
}

TEST_F(EventWriterTest, AnIndependentReaderDecodesTheEvents) {
  if (output_of("protoc --version").rfind("libprotoc", 0) != 0) {
    GTEST_SKIP() << "protoc is not installed (protobuf-compiler): the independent reader cannot run";
  }
  const auto writer = open_writer();
  const std::array scalars{Scalar{"accuracy", 0.75}, Scalar{"loss", -2.5}, Scalar{"nan", std::nan("")}};
  ASSERT_TRUE(writer->add_scalars(300, scalars));
  ASSERT_TRUE(writer->add_text(300, "checkpoint_path", "m/model.ckpt-300"));
  ASSERT_TRUE(writer->add_histogram(
      -1, "h", {.min = 1, .max = 2, .sum = 3, .sum_squares = 5, .count = 2, .limits = {1.5, 2.5}, .counts = {1, 1}}));
  ASSERT_TRUE(writer->add_start(301));
  ASSERT_TRUE(writer->add_image(302, "eye", {.bytes = "png", .width = 20, .height = 10, .channels = 3}));
  const std::array<int64_t, 2> shape{1, 2};
  const std::array<float, 2> values{0.5f, -4};
  ASSERT_TRUE(writer->add_tensor(303, "t", {.shape = shape, .values = values, .plugin = "p", .content = "c"}));
  ASSERT_TRUE(writer->close());
  const std::vector<std::string> events = payloads(contents(writer->path()));
  ASSERT_EQ(events.size(), 7u);
  std::vector<std::string> decoded;
  for (const std::string& event : events) {
    overwrite(folder.path() + "/payload", event);
    decoded.push_back(
        output_of("protoc --decode=tensorflow.Event -I " SHOAL_TEST_SOURCE " event.proto < " + folder.path() + "/payload"));
  }
  EXPECT_THAT(decoded[0], HasSubstr("file_version: \"brain.Event:2\"\n"));
  // Virtual time stands still, so all events have this one.
  const std::string wall_time = decoded[0].substr(0, decoded[0].find('\n') + 1);
  EXPECT_THAT(wall_time, MatchesRegex("wall_time: [0-9.e+]+\n"));
  EXPECT_EQ(decoded[1], wall_time +
                            "step: 300\n"
                            "summary {\n"
                            "  value {\n    tag: \"accuracy\"\n    simple_value: 0.75\n  }\n"
                            "  value {\n    tag: \"loss\"\n    simple_value: -2.5\n  }\n"
                            "  value {\n    tag: \"nan\"\n    simple_value: nan\n  }\n"
                            "}\n");
  EXPECT_EQ(decoded[2], wall_time +
                            "step: 300\n"
                            "summary {\n"
                            "  value {\n    tag: \"checkpoint_path\"\n"
                            "    tensor {\n      dtype: DT_STRING\n      tensor_shape {\n      }\n"
                            "      string_val: \"m/model.ckpt-300\"\n    }\n"
                            "    metadata {\n      plugin_data {\n        plugin_name: \"text\"\n      }\n    }\n"
                            "  }\n"
                            "}\n");
  EXPECT_EQ(decoded[3], wall_time +
                            "step: -1\n"
                            "summary {\n"
                            "  value {\n    tag: \"h\"\n"
                            "    histo {\n      min: 1\n      max: 2\n      num: 2\n      sum: 3\n      sum_squares: 5\n"
                            "      bucket_limit: 1.5\n      bucket_limit: 2.5\n      bucket: 1\n      bucket: 1\n    }\n"
                            "  }\n"
                            "}\n");
  EXPECT_EQ(decoded[4], wall_time + "step: 301\nsession_log {\n  status: START\n}\n");
  EXPECT_EQ(decoded[5], wall_time +
                            "step: 302\n"
                            "summary {\n"
                            "  value {\n    tag: \"eye\"\n"
                            "    image {\n      height: 10\n      width: 20\n      colorspace: 3\n"
                            "      encoded_image_string: \"png\"\n    }\n"
                            "  }\n"
                            "}\n");
  EXPECT_EQ(decoded[6],
            wall_time +
                "step: 303\n"
                "summary {\n"
                "  value {\n    tag: \"t\"\n"
                "    tensor {\n      dtype: DT_FLOAT\n      tensor_shape {\n        dim {\n          size: 1\n        }\n"
                "        dim {\n          size: 2\n        }\n      }\n"
                "      float_val: 0.5\n      float_val: -4\n    }\n"
                "    metadata {\n      plugin_data {\n        plugin_name: \"p\"\n        content: \"c\"\n      }\n    }\n"
                "  }\n"
                "}\n");
}

/// Events as protoc shows them by the messages of TensorBoard's plug-ins.
class PluginEvents : public EventWriterTest {
 protected:
  void SetUp() override {
    if (output_of("protoc --version").rfind("libprotoc", 0) != 0) {
      GTEST_SKIP() << "protoc is not installed (protobuf-compiler): the independent reader cannot run";
    }
  }
  /// The last event of the writer's file, decoded as this message of this schema.
  std::string decoded(EventWriter& writer, const std::string& message, const std::string& schema) {
    EXPECT_TRUE(writer.close());
    overwrite(folder.path() + "/payload", payloads(contents(writer.path())).back());
    return output_of("protoc --decode=" + message + " -I " SHOAL_TEST_SOURCE " " + schema + " < " + folder.path() +
                     "/payload");
  }
};

TEST_F(PluginEvents, AnExperimentTellsDomainsAndMetrics) {
  const auto writer = open_writer();
  ASSERT_TRUE(writer->add_hparams_experiment(
      {.name = "search",
       .description = "of rates",
       .parameters = {{.name = "rate", .interval = {{1e-4, 0.5}}},
                      {.name = "optimizer", .choices = {"adam", "sgd"}, .description = "which"},
                      {.name = "bias", .choices = {true, false}},
                      {.name = "units", .choices = {16.0, 32.0}}},
       .metrics = {{.tag = "accuracy", .folder = "eval", .display_name = "test accuracy"}, {.tag = "loss"}}}));
  const std::string text = decoded(*writer, "tensorboard.HparamsEvent", "plugins.proto");
  EXPECT_THAT(text, HasSubstr("tag: \"_hparams_/experiment\""));
  EXPECT_THAT(text, HasSubstr("plugin_name: \"hparams\""));
  std::string lines;  // Without blanks, as the depth of the messages says nothing.
  for (const char c : text) {
    if (c != ' ') lines += c;
  }
  EXPECT_THAT(lines, HasSubstr("description:\"ofrates\"\ntime_created_secs:"));
  EXPECT_THAT(lines, HasSubstr("hparam_infos{\nname:\"rate\"\ntype:DATA_TYPE_FLOAT64\ndomain_interval{\nmin_value:0."
                               "0001\nmax_value:0.5\n}\n}\n"));
  EXPECT_THAT(
      lines, HasSubstr("hparam_infos{\nname:\"optimizer\"\ndescription:\"which\"\ntype:DATA_TYPE_STRING\ndomain_discrete{\n"
                       "values{\nstring_value:\"adam\"\n}\nvalues{\nstring_value:\"sgd\"\n}\n}\n}\n"));
  EXPECT_THAT(lines, HasSubstr("name:\"bias\"\ntype:DATA_TYPE_BOOL\ndomain_discrete{\nvalues{\nbool_value:true\n}\nvalues{"
                               "\nbool_value:false\n}\n}\n"));
  EXPECT_THAT(lines, HasSubstr("name:\"units\"\ntype:DATA_TYPE_FLOAT64\ndomain_discrete{\nvalues{\nnumber_value:16\n}\n"));
  EXPECT_THAT(lines,
              HasSubstr("metric_infos{\nname{\ngroup:\"eval\"\ntag:\"accuracy\"\n}\ndisplay_name:\"testaccuracy\"\n}\n"
                        "metric_infos{\nname{\ntag:\"loss\"\n}\n}\nname:\"search\"\n"));
}

TEST_F(PluginEvents, ASessionTellsHyperParametersAndItsEnd) {
  const auto writer = open_writer();
  ASSERT_TRUE(writer->add_session_start(
      {.parameters = {{"rate", 0.5}, {"rate", 7.0}, {"name", "x"}, {"bias", false}}, .model_dir = "m", .group = "g"}));
  const std::string start = decoded(*writer, "tensorboard.HparamsEvent", "plugins.proto");
  EXPECT_THAT(start, HasSubstr("tag: \"_hparams_/session_start_info\""));
  EXPECT_THAT(start, HasSubstr("number_value: 0.5"));
  EXPECT_THAT(start, ::testing::Not(HasSubstr("number_value: 7"))) << "of two with one name the first counts";
  EXPECT_THAT(start, HasSubstr("bool_value: false"));
  EXPECT_THAT(start, HasSubstr("string_value: \"x\""));
  EXPECT_THAT(start, HasSubstr("model_uri: \"m\""));
  EXPECT_THAT(start, HasSubstr("group_name: \"g\""));
  EXPECT_THAT(start, HasSubstr("start_time_secs: "));
  const auto other = open_writer();
  ASSERT_TRUE(other->add_session_end(SessionStatus::kFailure));
  const std::string end = decoded(*other, "tensorboard.HparamsEvent", "plugins.proto");
  EXPECT_THAT(end, HasSubstr("tag: \"_hparams_/session_end_info\""));
  EXPECT_THAT(end, HasSubstr("status: STATUS_FAILURE"));
  EXPECT_THAT(end, HasSubstr("end_time_secs: "));
}

TEST_F(PluginEvents, AGraphHasNodesWithShapesAndTypes) {
  const auto writer = open_writer();
  const std::vector<GraphNode> nodes{
      {.name = "x", .op = "input", .outputs = {{.data_type = 1, .shape = {-1, 3}}}},
      {.name = "a/split", .op = "split", .inputs = {"x"}, .outputs = {{.data_type = 9}, {.data_type = 1, .shape = {2}}}},
      {.name = "end", .op = "add", .inputs = {"a/split:1", "x"}}};
  const Result<bool> written = writer->add_graph(nodes);
  ASSERT_TRUE(written);
  EXPECT_TRUE(*written);
  std::string lines;
  for (const char c : decoded(*writer, "tensorflow.EventWithGraph", "graph.proto")) {
    if (c != ' ') lines += c;
  }
  EXPECT_THAT(lines, HasSubstr("node{\nname:\"x\"\nop:\"input\"\n"));
  EXPECT_THAT(lines,
              HasSubstr("key:\"_output_shapes\"\nvalue{\nlist{\nshape{\ndim{\nsize:-1\n}\ndim{\nsize:3\n}\n}\n}\n}\n"));
  EXPECT_THAT(lines, HasSubstr("list{\nshape{\n}\nshape{\ndim{\nsize:2\n}\n}\n}"));
  EXPECT_THAT(lines, HasSubstr("key:\"dtype\"\nvalue{\ntype:9\n}\n"));
  EXPECT_THAT(lines, HasSubstr("node{\nname:\"end\"\nop:\"add\"\ninput:\"a/split:1\"\ninput:\"x\"\n}\n"));
  EXPECT_THAT(lines, HasSubstr("versions{\nproducer:22\n}\n"));
}

TEST_F(EventWriterTest, AGraphThatIsTooLargeIsLeftOut) {
  const auto writer = open_writer();
  const std::vector<GraphNode> nodes(1000, {.name = std::string(2000, 'n'), .op = "add"});
  const Result<bool> written = writer->add_graph(nodes);
  ASSERT_TRUE(written);
  EXPECT_FALSE(*written);
  ASSERT_TRUE(writer->close());
  EXPECT_EQ(payloads(contents(writer->path())).size(), 1u);
}

TEST_F(EventWriterTest, RefusesDomainsThatAreNone) {
  const auto writer = open_writer();
  const auto why = [&](HyperParameterDomain domain) {
    domain.name = "rate";
    const Result<void> result = writer->add_hparams_experiment({.parameters = {domain}});
    return result ? "taken" : result.error().message();
  };
  EXPECT_THAT(why({.name = {}}),
              HasSubstr("hyper-parameter rate of an experiment: it has neither an interval nor choices"));
  EXPECT_THAT(why({.name = {}, .interval = {{0, 1}}, .choices = {1.0}}), HasSubstr("it has both an interval and choices"));
  EXPECT_THAT(why({.name = {}, .interval = {{2, 1}}}), HasSubstr("its interval ends before it begins"));
  EXPECT_THAT(why({.name = {}, .interval = {{0, NAN}}}), HasSubstr("its interval ends before it begins"));
  EXPECT_THAT(why({.name = {}, .choices = {1.0, true}}), HasSubstr("its choices are of several types"));
  EXPECT_EQ(why({.name = {}, .interval = {{1, 1}}}), "taken");
}

TEST_F(EventWriterTest, RefusesPrCurvesOfOtherThanSixRows) {
  const auto writer = open_writer();
  const std::vector<float> seven(7), twelve(12);
  EXPECT_FALSE(writer->add_pr_curve(1, "auc/pr_curve", seven));
  EXPECT_TRUE(writer->add_pr_curve(1, "auc/pr_curve", twelve));
}

TEST(Histogram, CountsEveryFiniteValueOnce) {
  const std::vector<float> values{-3, -1e-20f, 0, 0, 1e-30f, 0.1f, 0.1f, 1, 2e30f, NAN, INFINITY, -INFINITY};
  const Histogram histogram = make_histogram(values);
  EXPECT_EQ(histogram.count, 9);
  EXPECT_EQ(histogram.min, -3);
  EXPECT_EQ(histogram.max, double(2e30f));
  ASSERT_EQ(histogram.limits.size(), histogram.counts.size());
  double counted = 0;
  for (size_t i = 0; i < histogram.counts.size(); ++i) {
    const double begin = i == 0 ? -HUGE_VAL : histogram.limits[i - 1];
    double expected = 0;
    for (float value : values)
      expected += std::isfinite(value) && double(value) >= begin && double(value) < histogram.limits[i];
    EXPECT_EQ(histogram.counts[i], expected) << "bucket to " << histogram.limits[i];
    counted += histogram.counts[i];
  }
  EXPECT_EQ(counted, 9);
  EXPECT_TRUE(std::is_sorted(histogram.limits.begin(), histogram.limits.end()));
  EXPECT_LT(histogram.limits.size(), 20u);  // Runs of empty buckets become one.
}

TEST(Histogram, OfNothingIsEmpty) {
  const Histogram histogram = make_histogram({});
  EXPECT_EQ(histogram.count, 0);
  EXPECT_EQ(histogram.limits.size(), 1u);
}

}  // namespace
}  // namespace shoal::monitor
