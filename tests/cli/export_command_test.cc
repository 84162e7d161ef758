// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <filesystem>

#include "small_export.h"

namespace shoal::cli {
namespace {

using ::testing::HasSubstr;
using testing::Json;
using testing::Output;
using testing::shoal_program;

using ExportCommand = InFolderWithExport;

TEST_F(ExportCommand, ListsFoldersOfTenDigits) {
  write("1700000000/export.json", R"({"global_step": 200, "more": [1]})");
  write("1700000100/export.json", R"({"global_step": 300})");
  write("170000000/export.json", R"({"global_step": 1})");
  write("17000000000/export.json", R"({"global_step": 2})");
  write("temp-1700000200/export.json", R"({"global_step": 3})");
  write("1700000300", "a file");
  const std::string before = everything();
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.err, "");
  EXPECT_EQ(run.json(), (Json{{"directory", folder},
                              {"exports",
                               {{{"path", folder + "/1700000000"}, {"timestamp", 1700000000}, {"global_step", 200}},
                                {{"path", folder + "/1700000100"}, {"timestamp", 1700000100}, {"global_step", 300}}}}}));
  EXPECT_EQ(everything(), before);
}

TEST_F(ExportCommand, ListsAnEmptyFolder) {
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json()["exports"], Json::array());
}

TEST_F(ExportCommand, AFolderBesideTheExportsIsToldWhatToName) {
  write("m/export/best/1700000000/export.json", R"({"global_step": 200})");
  const std::string best = folder + "/m/export/best";
  for (const std::string& above : {folder + "/m", folder + "/m/export"}) {
    const Output run = shoal_program({"export", "list", above});
    EXPECT_EQ(run.status, 2);
    EXPECT_EQ(run.out, "");
    EXPECT_THAT(run.err, HasSubstr(above + ": no exports in it itself; name a folder of exports, such as " + best));
  }
  const Output itself = shoal_program({"export", "list", best + "/1700000000"});
  EXPECT_EQ(itself.status, 2);
  EXPECT_THAT(itself.err, HasSubstr(best + "/1700000000: no exports in it, since it is one: name its folder"));
}

TEST_F(ExportCommand, DamageIsToldAndEndsWithFour) {
  write("1700000000/graph.json", "{}");
  write("1700000100/export.json", "{\"global_step\": ");
  write("1700000200/export.json", "{\"global_step\": \"many\"}");
  write("1700000300/export.json", "{\"global_step\": 7}");
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 4);
  const Json exports = run.json()["exports"];
  ASSERT_EQ(exports.size(), 4u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(exports[i]["global_step"], nullptr);
    EXPECT_TRUE(exports[i].contains("damage"));
    EXPECT_THAT(run.err, HasSubstr("1700000" + std::to_string(i) + "00/export.json"));
  }
  EXPECT_EQ(exports[3]["global_step"], 7);
}

TEST_F(ExportCommand, ReadsADescriptionThatNestsDeeply) {
  write("1700000000/export.json",
        R"({"a":)" + std::string(500000, '[') + std::string(500000, ']') + R"(,"b":1,"c":2,"global_step":200})");
  const Output run = shoal_program({"export", "list", folder});
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.json()["exports"][0]["global_step"], 200);
}

TEST_F(ExportCommand, AMissingFolderIsAnError) { EXPECT_EQ(shoal_program({"export", "list", folder + "/none"}).status, 2); }

TEST_F(ExportCommand, ShowsWhatAnExportTakesAndGives) {
  const std::string path = exported();
  const std::string before = everything();
  const Output run = shoal_program({"export", "show", path});
  ASSERT_EQ(run.status, 0) << run.err;
  const Json expected{{"path", path},
                      {"global_step", 1},
                      {"inputs", {{{"name", ""}, {"dtype", "float32"}, {"shape", {-1, 3}}}}},
                      {"predictions", {{{"name", "y"}, {"dtype", "float32"}, {"shape", {-1, 2}}}}},
                      {"signatures", {{"serving_default", {{"y", "y"}}}}},
                      {"variables",
                       {{{"name", "twice/bias"}, {"dtype", "float32"}, {"shape", {2}}},
                        {{"name", "twice/kernel"}, {"dtype", "float32"}, {"shape", {2, 3}}}}},
                      {"lacking_ops", Json::array()}};
  EXPECT_EQ(run.json(), expected);
  EXPECT_EQ(everything(), before);
}

/// A model that doubles its features by an op of its own, which the program shoal does not have.
EstimatorSpec model_with_own_op(const Features& features, const Labels& labels, Mode mode, const Params& params,
                                const RunConfig& config) {
  EstimatorSpec spec = model(features, labels, mode, params, config);
  const Value y = spec.predictions[0].second;
  spec.predictions = {{"own", y.graph().add("own_identity", {y})[0]}};
  return spec;
}

TEST_F(ExportCommand, ShowsAnExportWithAnOpThatThisProgramLacks) {
  OpDef op{.name = "own_identity", .version = 3, .inputs_min = 1, .inputs_max = 1};
  op.shape_rule = [](std::span<const ValueType> inputs, const Attributes&) -> Result<std::vector<ValueType>> {
    return std::vector{inputs[0]};
  };
  op.kernel = [](const OpCall& call) -> Result<void> {
    std::ranges::copy(call.inputs[0].as<float>(), call.outputs[0].as<float>().begin());
    return {};
  };
  const auto input = [] { return data::Dataset::from_tensor_slices(Tensor::zeros(DType::kFloat32, {4, 3})).batch(2); };
  RunConfigOptions options;
  options.model_dir = folder + "/m";
  Estimator estimator(model_with_own_op, RunConfig(options));
  estimator.use_ops({op}).train(input, {.steps = 1});
  const std::string path = estimator.export_model(folder + "/exports", input);
  const Output run = shoal_program({"export", "show", path});
  EXPECT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(run.err, HasSubstr(path + ": the graph has ops of a program's own (own_identity), which this program lacks"));
  const Json shown = run.json();
  EXPECT_EQ(shown["lacking_ops"], Json::array({Json{{"name", "own_identity"}, {"version", 3}}}));
  EXPECT_EQ(shown["signatures"], (Json{{"serving_default", {{"own", "own"}}}}));
  EXPECT_EQ(shown["inputs"], Json::array({Json{{"name", ""}, {"dtype", "float32"}, {"shape", {-1, 3}}}}));
  EXPECT_EQ(shown["variables"].size(), 2u);
  // Commands that have to load the model still refuse it, and damage is still an error.
  EXPECT_EQ(shoal_program({"predict", path}).status, 2);
  write("exports/" + path.substr(path.rfind('/') + 1) + "/graph.json", "{}");
  EXPECT_EQ(shoal_program({"export", "show", path}).status, 4);
}

/// CONTRACT RU-5: the number of an export decides, not the time of a file.
TEST_F(ExportCommand, TheNewestOfAFolderHasTheLargestNumber) {
  const std::string path = exported(), base = path.substr(0, path.rfind('/'));
  std::filesystem::copy(path, base + "/0000000007", std::filesystem::copy_options::recursive);  // It is written later.
  std::filesystem::copy(path, base + "/8000000000", std::filesystem::copy_options::recursive);
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(10'000);
  for (const char* entry : {"/8000000000/export.json", "/8000000000"}) {
    std::filesystem::last_write_time(base + entry, long_ago);
  }
  EXPECT_EQ(shoal_program({"export", "show", base}).json()["path"], base + "/8000000000");
  EXPECT_EQ(shoal_program({"export", "list", base}).json()["exports"][2]["path"], base + "/8000000000");
}

TEST_F(ExportCommand, ALinkThatLeadsNowhereIsNotReplaced) {
  const std::string onnx = folder + "/model.onnx", header = folder + "/c/model.h";
  std::filesystem::create_directory(folder + "/c");
  for (const std::string& link : {onnx, header}) std::filesystem::create_symlink(folder + "/nowhere", link);
  const std::string path = exported();
  for (const Output& run :
       {shoal_program({"export", "onnx", path, "-o", onnx}), shoal_program({"export", "c++", path, "-o", folder + "/c"})}) {
    EXPECT_EQ(run.status, 2);
    EXPECT_THAT(run.err, HasSubstr("is there already, and nothing was changed"));
  }
  for (const std::string& link : {onnx, header}) EXPECT_TRUE(std::filesystem::is_symlink(link)) << link;
  EXPECT_FALSE(std::filesystem::exists(folder + "/nowhere"));
}

TEST_F(ExportCommand, ShowSaysWhatIsWrong) {
  const Output missing = shoal_program({"export", "show", folder + "/none"});
  EXPECT_NE(missing.status, 0);
  EXPECT_THAT(missing.err, HasSubstr(folder + "/none"));
  EXPECT_EQ(shoal_program({"export", "show"}).status, 2);
  const std::string path = exported();
  std::filesystem::resize_file(path + "/graph.json", 100);
  const Output damaged = shoal_program({"export", "show", path});
  EXPECT_EQ(damaged.status, exit_status(ErrorKind::kDataLoss));
  EXPECT_THAT(damaged.err, HasSubstr(path + "/graph.json"));
}

}  // namespace
}  // namespace shoal::cli
