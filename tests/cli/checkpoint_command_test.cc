// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <filesystem>

#include "fixture.h"
#include "shoal/checkpoint/end_mark.h"
#include "shoal/checkpoint/writer.h"
#include "shoal/data/npy.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;

class CheckpointCommand : public testing::InFolder {
 protected:
  void save(int64_t step) {
    const Tensor kernel = Tensor::of<float>({2, 2}, {1.5f, -2, NAN, float(step)});
    const Tensor count = Tensor::scalar<int64_t>(step);
    const Tensor flags = Tensor::of<bool>({3, 1}, {true, false, true});
    const uint16_t halves[2] = {0x3c00, 0xc100};  // 1 and -2.5 as float16.
    const TensorView half{DType::kFloat16, {2}, reinterpret_cast<const std::byte*>(halves)};
    const TensorView bfloat{DType::kBFloat16, {2}, reinterpret_cast<const std::byte*>(halves)};
    const std::vector<checkpoint::Writer::NamedTensor> tensors{{"kernel", kernel.view()},
                                                               {"kernel/momentum", kernel.view(), "kernel"},
                                                               {"count", count.view()},
                                                               {"flags", flags.view()},
                                                               {"half", half},
                                                               {"bfloat", bfloat}};
    auto writer = checkpoint::Writer::begin(*storage, folder, step);
    ASSERT_TRUE(writer);
    ASSERT_TRUE((*writer)->add_tensors(tensors));
    ASSERT_TRUE((*writer)->commit({.counters = {{"kernel", uint64_t(step)}},
                                   .positions = {{"chief/0", "abc"}},
                                   .numerics = "reference",
                                   .fingerprint = "ff",
                                   .meaning = R"({"facts":{"head":[{"kind":"k","lists":{},"values":{}}]},"version":1})",
                                   .rules = "{}",
                                   .save_time = WallTime(std::chrono::milliseconds(1'700'000'000'250))},
                                  {}));
  }
  std::string data(int64_t step) const { return "model.ckpt-" + std::to_string(step) + ".data-00000-of-00001"; }
  void flip_last_bit(const std::string& name) {
    std::string text = read(name);
    text.back() ^= 1;
    write(name, text);
  }

  std::unique_ptr<Storage> storage = make_file_storage();
};

TEST_F(CheckpointCommand, ListsTheRetainedOnes) {
  for (int64_t step : {0, 10, 20}) save(step);
  const std::string before = everything();
  const Output run = shoal_program({"checkpoint", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  const Json json = run.json();
  EXPECT_EQ(json["directory"], folder);
  EXPECT_EQ(json["newest"], "model.ckpt-20");
  EXPECT_EQ(json["finished"], nullptr);
  ASSERT_EQ(json["checkpoints"].size(), 3u);
  const uint64_t bytes = read("model.ckpt-10.index").size() + read(data(10)).size();
  EXPECT_EQ(json["checkpoints"][1], (Json{{"name", "model.ckpt-10"},
                                          {"global_step", 10},
                                          {"newest", false},
                                          {"bytes", bytes},
                                          {"save_time", 1700000000.25},
                                          {"intact", true}}));
  EXPECT_EQ(json["checkpoints"][2]["newest"], true);
  EXPECT_EQ(everything(), before);
}

/// CONTRACT RU-5, CK-6: the `checkpoint` list decides which checkpoint is the newest; steps and times of files do not.
TEST_F(CheckpointCommand, ListsInTheOrderOfTheList) {
  for (int64_t step : {30, 10, 20}) save(step);
  const auto soon = std::filesystem::file_time_type::clock::now() + std::chrono::hours(1);
  for (const std::string& name : {data(30), std::string("model.ckpt-30.index")}) {
    std::filesystem::last_write_time(folder + "/" + name, soon);
  }
  const Json json = shoal_program({"checkpoint", "list", folder}).json();
  EXPECT_EQ(json["newest"], "model.ckpt-20");
  ASSERT_EQ(json["checkpoints"].size(), 3u);
  EXPECT_EQ(json["checkpoints"][0]["global_step"], 30);
  EXPECT_EQ(json["checkpoints"][1]["global_step"], 10);
}

TEST_F(CheckpointCommand, ListShowsTheEndMark) {
  save(20);
  checkpoint::EndMark mark{.run = 2,
                           .global_step = 20,
                           .checkpoint = "model.ckpt-20",
                           .reason = checkpoint::EndReason::kInterrupted,
                           .wall_time = WallTime(std::chrono::seconds(1'700'000'001))};
  ASSERT_TRUE(checkpoint::write_end_mark(*storage, folder, mark));
  Json expected{
      {"global_step", 20}, {"checkpoint", "model.ckpt-20"}, {"reason", "interrupted"}, {"wall_time", 1700000001.0}};
  expected["run"] = 2;
  expected["shoal_run"] = nullptr;
  EXPECT_EQ(shoal_program({"checkpoint", "list", folder}).json()["finished"], expected);
  mark.shoal_run = "night 7";
  ASSERT_TRUE(checkpoint::write_end_mark(*storage, folder, mark));
  EXPECT_EQ(shoal_program({"checkpoint", "list", folder}).json()["finished"]["shoal_run"], "night 7");
}

TEST_F(CheckpointCommand, ListsAnEmptyFolder) {
  const Output run = shoal_program({"checkpoint", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json(),
            (Json{{"directory", folder}, {"newest", nullptr}, {"checkpoints", Json::array()}, {"finished", nullptr}}));
}

TEST_F(CheckpointCommand, ListNamesDamageAndEndsWithFour) {
  for (int64_t step : {0, 10, 20}) save(step);
  flip_last_bit(data(10));
  std::filesystem::remove(folder + "/model.ckpt-0.index");
  const Output run = shoal_program({"checkpoint", "list", folder});
  EXPECT_EQ(run.status, 4);
  const Json checkpoints = run.json()["checkpoints"];
  EXPECT_EQ(checkpoints[0]["intact"], false);
  EXPECT_EQ(checkpoints[0]["save_time"], nullptr);
  EXPECT_EQ(checkpoints[1]["intact"], false);
  EXPECT_THAT(checkpoints[1]["damage"].get<std::string>(), HasSubstr("expected"));
  EXPECT_EQ(checkpoints[2]["intact"], true);
  EXPECT_THAT(run.err, HasSubstr("shoal: checkpoint " + folder + "/model.ckpt-10: file " + data(10)));
  EXPECT_EQ(shoal_program({"checkpoint", "list", "--fast", folder}).json()["checkpoints"][1]["intact"], true);
}

TEST_F(CheckpointCommand, ListRefusesADamagedPointerFileAndAMissingFolder) {
  write("checkpoint", "model_checkpoint_path: oops\n");
  const Output damaged = shoal_program({"checkpoint", "list", folder});
  EXPECT_EQ(damaged.status, 4);
  EXPECT_EQ(damaged.out, "");
  EXPECT_THAT(damaged.err, HasSubstr(folder + "/checkpoint: line 1 has no name in quotes"));
  const Output missing = shoal_program({"checkpoint", "list", folder + "/none"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr(folder + "/none"));
}

TEST_F(CheckpointCommand, ShowsVariables) {
  save(10);
  const Output run = shoal_program({"checkpoint", "show", folder + "/model.ckpt-10"});
  EXPECT_EQ(run.status, 0);
  const Json json = run.json();
  EXPECT_EQ(json["prefix"], folder + "/model.ckpt-10");
  EXPECT_EQ(json["global_step"], 10);
  EXPECT_EQ(json["save_time"], 1700000000.25);
  EXPECT_EQ(json["numerics"], "reference");
  EXPECT_EQ(json["meaning"]["head"][0]["kind"], "k");
  EXPECT_EQ(json["rest"], "{}");
  EXPECT_EQ(json["counters"], (Json{{"kernel", 10}}));
  EXPECT_EQ(json["positions"], (Json{{"chief/0", {{"bytes", 3}}}}));
  EXPECT_EQ(json["files"][0]["name"], data(10));
  ASSERT_EQ(json["variables"].size(), 6u);
  EXPECT_EQ(json["variables"][0]["name"], "bfloat");
  EXPECT_EQ(json["variables"][1],
            (Json{{"name", "count"}, {"dtype", "int64"}, {"shape", Json::array()}, {"bytes", 8}, {"pieces", 1}}));
  EXPECT_EQ(json["variables"][4],
            (Json{{"name", "kernel"}, {"dtype", "float32"}, {"shape", {2, 2}}, {"bytes", 16}, {"pieces", 1}}));
  EXPECT_EQ(json["variables"][5]["slot_of"], "kernel");
  EXPECT_FALSE(json.contains("values"));
}

TEST_F(CheckpointCommand, ShowsValuesOnRequest) {
  save(10);
  const Output run = shoal_program({"checkpoint", "show", folder + "/model.ckpt-10.index", "--values", "kernel", "--values",
                                    "count", "--values", "flags", "--values", "half", "--values", "bfloat"});
  EXPECT_EQ(run.status, 0);
  const Json values = run.json()["values"];
  EXPECT_EQ(values["kernel"], Json::parse("[[1.5, -2.0], [\"NaN\", 10.0]]"));
  EXPECT_EQ(values["count"], 10);
  EXPECT_EQ(values["flags"], Json::parse("[[true], [false], [true]]"));
  EXPECT_EQ(values["half"], Json::parse("[1.0, -2.5]"));
  EXPECT_EQ(values["bfloat"], Json::parse("[0.0078125, -8.0]"));
}

/// Files of other programs, from which a warm start may begin.
TEST_F(CheckpointCommand, ShowsFilesOfTensors) {
  const Tensor weight = Tensor::of<float>({1, 2}, {0.5f, -1});
  ASSERT_TRUE(shoal::data::write_npz(*storage, folder + "/w.npz", {{"fc1.weight", weight}}));
  const Output npz = shoal_program({"checkpoint", "show", folder + "/w.npz", "--values", "fc1.weight"});
  EXPECT_EQ(npz.status, 0);
  const Json tensors = Json::parse(R"([{"name":"fc1.weight","dtype":"float32","shape":[1,2]}])");
  EXPECT_EQ(npz.json(),
            (Json{{"file", folder + "/w.npz"}, {"tensors", tensors}, {"values", {{"fc1.weight", {{0.5, -1.0}}}}}}));
  // Types are those of the file: a tensor of float16 is read as float32.
  const shoal::data::TensorMap types{{"half", Tensor::zeros(DType::kFloat16, {2})},
                                     {"text", Tensor::of_strings({1}, {"abc"})}};
  ASSERT_TRUE(shoal::data::write_npz(*storage, folder + "/t.npz", types));
  const Json listed = shoal_program({"checkpoint", "show", folder + "/t.npz", "--values", "half"}).json();
  EXPECT_EQ(listed["tensors"], Json::parse(R"([{"name":"half","dtype":"float16","shape":[2]},)"
                                           R"({"name":"text","dtype":"U3","shape":[1]}])"));
  EXPECT_EQ(listed["values"]["half"], Json::parse("[0.0, 0.0]"));
  // The data file of a checkpoint is a safetensors file.
  save(10);
  const Output safetensors = shoal_program({"checkpoint", "show", folder + "/" + data(10), "--values", "half"});
  EXPECT_EQ(safetensors.status, 0);
  EXPECT_EQ(safetensors.json()["tensors"][0], Json::parse(R"({"name":"bfloat","dtype":"BF16","shape":[2]})"));
  EXPECT_EQ(safetensors.json()["values"]["half"], Json::parse("[1.0, -2.5]"));
  const Output missing = shoal_program({"checkpoint", "show", folder + "/w.npz", "--values", "fc2.weight"});
  EXPECT_EQ(missing.status, 2);
  EXPECT_THAT(missing.err, HasSubstr("w.npz: there is no array fc2.weight"));
}

TEST_F(CheckpointCommand, ShowRefusesWhatIsNotThere) {
  save(10);
  const Output variable = shoal_program({"checkpoint", "show", folder + "/model.ckpt-10", "--values", "bias"});
  EXPECT_EQ(variable.status, 2);
  EXPECT_EQ(variable.out, "");
  EXPECT_THAT(variable.err, HasSubstr("no variable bias"));
  const Output prefix = shoal_program({"checkpoint", "show", folder + "/model.ckpt-11"});
  EXPECT_EQ(prefix.status, 2);
  EXPECT_THAT(prefix.err, HasSubstr("model.ckpt-11"));
  for (const char* command : {"show", "verify"}) {
    EXPECT_THAT(shoal_program({"checkpoint", command, folder}).err,
                HasSubstr(folder + " is a folder (shoal checkpoint list " + folder + " names its checkpoints)"));
  }
}

TEST_F(CheckpointCommand, DamageEndsWithFour) {
  save(10);
  flip_last_bit(data(10));  // Changes a bit of "bfloat", the last tensor in the file.
  EXPECT_EQ(shoal_program({"checkpoint", "show", folder + "/model.ckpt-10", "--values", "kernel"}).status, 0);
  const Output values = shoal_program({"checkpoint", "show", folder + "/model.ckpt-10", "--values", "bfloat"});
  EXPECT_EQ(values.status, 4);
  EXPECT_THAT(values.err, HasSubstr("variable bfloat: checksum"));
  EXPECT_EQ(shoal_program({"checkpoint", "verify", folder + "/model.ckpt-10"}).status, 4);
  flip_last_bit(data(10));
  const Output whole = shoal_program({"checkpoint", "verify", folder + "/model.ckpt-10"});
  EXPECT_EQ(whole.status, 0);
  EXPECT_EQ(whole.json()["intact"], true);
}

}  // namespace
}  // namespace shoal::cli
