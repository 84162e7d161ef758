// SPDX-License-Identifier: Apache-2.0
// A run wholly in memory: everything that goes through a storage goes through the host's, and no file system is touched.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <functional>

#include "calls.h"
#include "child.h"

namespace shoal::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

RunConfigOptions in_memory(std::shared_ptr<Storage> storage) {
  RunConfigOptions options;
  options.model_dir = "/nowhere/model";
  options.save_checkpoints_steps = 4;
  options.save_summary_steps = 2;
  options.random_seed = 7;
  options.log_sink = [](const LogRecord&) {};
  options.storage = std::move(storage);
  return options;
}

std::vector<std::string> names_in(Storage& storage, const std::string& folder) {
  std::vector<std::string> names;
  for (const FileInfo& info : value_or_raise(storage.list(folder))) names.push_back(info.name);
  return names;
}

void require(bool condition, const char* what) {
  if (!condition) throw std::runtime_error(what);
}

/// A table that lies in the storage, too.
data::Dataset table_in(Storage& storage) {
  std::string text = "x0,x1,y\n";
  for (int i = 0; i < 64; ++i)
    text += std::to_string(i % 7) + "," + std::to_string(i % 3) + "," + std::to_string(i % 2) + "\n";
  value_or_raise(storage.make_folders("/nowhere/data"));
  value_or_raise(storage.write_atomically("/nowhere/data/table.csv", text));
  data::CsvOptions options{.columns = {{"x0", DType::kFloat32}, {"x1", DType::kFloat32}, {"y", DType::kInt64}},
                           .labels = {"y"},
                           .header_lines = 1};
  return data::Dataset::csv({"/nowhere/data/table.csv"}, options).map([](data::Element element) {
    Tensor x(DType::kFloat32, {2});
    x.mutable_as<float>()[0] = element.features.find("x0")->as<float>()[0];
    x.mutable_as<float>()[1] = element.features.find("x1")->as<float>()[0];
    return data::Element{data::TensorMap({{"x", x}}), element.labels};
  });
}

/// All that a local run does, twice as two starts of it would.
void train_in_memory(const std::shared_ptr<Storage>& storage) {
  const RunConfig config(in_memory(storage));
  const data::Dataset rows = table_in(*storage);
  data::csv_columns("/nowhere/data/table.csv", {.header_lines = 1}, {.env = config.environment()});
  const auto statistics =
      config.learned("statistics", [&] { return columns::statistics_of(rows, {.env = config.environment()}); });
  static_cast<void>(statistics);
  for (const int64_t max_steps : {10, 20}) {
    Estimator estimator(guest_model, config);
    const auto result = train_and_evaluate(
        estimator,
        {.input_fn = rows.shuffle(64).repeat().batch(16).prefetch(2),
         .max_steps = max_steps,
         .hooks = {stop_if_no_decrease("loss", 1000)}},
        {.input_fn = rows.batch(16), .throttle_secs = 0, .exporters = {best_exporter("best"), final_exporter("final")}});
    require(result.report.global_step == uint64_t(max_steps), "training did not go on from the checkpoint in memory");
  }
  Estimator estimator(guest_model, config);
  require(estimator.evaluate(rows.batch(16)).at("global_step") == 20, "evaluate() found another checkpoint");
  require(estimator.predict(rows.batch(16))->next().has_value(), "predict() gave nothing");
  const std::string folder = estimator.export_model("/nowhere/exports", rows.batch(4));
  const auto model = load_exported_model(*storage, folder);
  model->predict({{"x", Tensor::zeros(DType::kFloat32, {3, 2})}});
  Estimator warm(guest_model, config.replace({.model_dir = "/nowhere/warm"}));
  warm.warm_start({.from = "/nowhere/model"}).train(rows.batch(16), {.max_steps = 2});
  Estimator replicas(guest_model,
                     config.replace({.model_dir = "/nowhere/replicas", .runtime = RuntimeOptions{.replicas = 2}}));
  replicas.train(rows.repeat().batch(16), {.max_steps = 4});
  Estimator unnamed(guest_model, config.replace({.model_dir = std::nullopt}));
  unnamed.train(rows.batch(16), {.max_steps = 2});
}

void train_a_cluster_in_memory(const std::shared_ptr<Storage>& storage) {
  RunConfigOptions options = in_memory(storage);
  options.model_dir = "cluster";
  const auto outcomes =
      run_cluster({.ps = 1, .workers = 1, .evaluator = true},
                  [](RunConfig config) {
                    Estimator estimator(guest_model, std::move(config));
                    train_and_evaluate(
                        estimator, {.input_fn = guest_data().repeat().batch(kBatch), .max_steps = 8},
                        {.input_fn = guest_data().batch(kBatch), .throttle_secs = 0, .exporters = {best_exporter("best")}});
                  },
                  {.config = options});
  for (const TaskOutcome& outcome : outcomes) value_or_raise(outcome.result);
  require(storage->exists("cluster/export/best"), "the evaluator did not see the checkpoints in memory");
}

/// In a process that can write no byte to any file, and looks afterwards whether it made one.
int without_a_disk(const TemporaryFolder& folder, const std::function<void()>& work) {
  std::filesystem::create_directory(folder / "here");
  std::filesystem::create_directory(folder / "tmp");
  setenv("TMPDIR", (folder / "tmp").c_str(), 1);
  std::filesystem::current_path(folder / "here");
  signal(SIGXFSZ, SIG_IGN);
  const rlimit nothing{0, 0};
  setrlimit(RLIMIT_FSIZE, &nothing);
  work();
  const bool empty = std::filesystem::is_empty(folder / "here") && std::filesystem::is_empty(folder / "tmp");
  return empty && !std::filesystem::exists("/nowhere") ? kOwn : 1;
}

TEST(RunInMemory, TouchesNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(status_of_child([&] { return without_a_disk(folder, [] { train_in_memory(make_memory_storage()); }); }), kOwn);
}

TEST(RunInMemory, OfAClusterOfThreadsTouchesNoFile) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      status_of_child([&] { return without_a_disk(folder, [] { train_a_cluster_in_memory(make_memory_storage()); }); }),
      kOwn);
}

TEST(RunInMemory, LeavesWhatARunOnADiskLeaves) {
  const std::shared_ptr<Storage> storage = make_memory_storage();
  train_in_memory(storage);
  const auto model = names_in(*storage, "/nowhere/model");
  for (const char* part : {"checkpoint", "run.json", "training_lock", "learned", "export", "eval"}) {
    EXPECT_THAT(model, Contains(part));
  }
  EXPECT_THAT(model, Contains(StartsWith("events.out")));
  EXPECT_THAT(model, Not(Contains(HasSubstr(".tmp-"))));
  EXPECT_THAT(names_in(*storage, "/nowhere/model/eval"), Contains(StartsWith("events.out")));
}

TEST(RunInMemory, HasTheBitsOfARunOnADisk) {
  const TemporaryFolder folder;
  const auto weights = [&](std::shared_ptr<Storage> storage) {
    RunConfigOptions options = in_memory(std::move(storage));
    options.model_dir = folder / "model";
    Estimator estimator(guest_model, RunConfig(options));
    estimator.train(guest_data().shuffle(64).repeat().batch(16), {.max_steps = 10});
    const auto values = estimator.variable_value(estimator.variable_names().front());
    return std::vector<float>(values.as<float>().begin(), values.as<float>().end());
  };
  EXPECT_EQ(weights(make_memory_storage()), weights(nullptr));
}

TEST(RunInMemory, LocksItsFolderAgainstASecondRunInTheSameStorage) {
  const std::shared_ptr<Storage> storage = make_memory_storage();
  bool refused = false;
  const data::Dataset rows = guest_data().take(4).map([&](data::Element element) {
    Estimator second(guest_model, RunConfig(in_memory(storage)));
    const auto trained = second.try_train(guest_data().batch(8), {.steps = 1});
    refused = !trained && trained.error().kind() == ErrorKind::kUnavailable;
    EXPECT_THAT(trained ? "trained" : trained.error().message(), HasSubstr("is in use"));
    Estimator elsewhere(guest_model, RunConfig(in_memory(make_memory_storage())));
    elsewhere.train(guest_data().batch(8), {.steps = 1});
    return element;
  });
  Estimator(guest_model, RunConfig(in_memory(storage))).train(rows.batch(4), {.steps = 1});
  EXPECT_TRUE(refused);
}

TEST(RunInMemory, OwnStoragesMayHaveAddressesAsPaths) {
  EXPECT_THROW(RunConfig({.model_dir = "store://jobs/7"}), Exception);
  const RunConfig config({.model_dir = "store://jobs/7", .storage = make_memory_storage()});
  EXPECT_EQ(config.model_dir(), "store://jobs/7");
}

}  // namespace
}  // namespace shoal::testing
