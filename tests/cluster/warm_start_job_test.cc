// SPDX-License-Identifier: Apache-2.0
/// Whole jobs that start from another model (CONTRACT EST-14, CH-2): servers begin with the same values as one process
/// does.
#include "jobs.h"
#include "shoal/nn/embedding.h"

namespace shoal::testing {
namespace {

constexpr int64_t kOldWords = 80, kNewWords = 96;

/// A table that three servers split, of which inputs name the first ten rows, with a layer on top; Adam.
EstimatorSpec table_model(const Features& features, const Labels& labels, Mode mode, const Params& params,
                          const RunConfig&) {
  EstimatorSpec spec;
  spec.mode = mode;
  const Value words = nn::embedding(features.single(), {.ids = params.get_int("words"), .dimension = 8, .name = "words"});
  const Value y = nn::dense(words, {.units = 1, .name = "out"});
  spec.loss = nn::reduce_loss(nn::squared_error({.labels = labels.single(), .predictions = y}));
  spec.predictions = {{"y", y}};
  if (mode == Mode::kTrain) spec.train_op = nn::adam({.learning_rate = 0.01}).minimize(spec.loss);
  return spec;
}

Dataset ten_words() {
  std::vector<int64_t> ids(20);
  std::vector<float> y(20);
  for (size_t i = 0; i < ids.size(); ++i) {
    ids[i] = int64_t(i * 7 % 10);
    y[i] = float(i % 3);
  }
  return Dataset::from_tensor_slices(Tensor::of<int64_t>({20}, ids), Tensor::of<float>({20, 1}, y)).repeat().batch(4);
}

/// The old vocabulary has other words in another order: its row i is row 5 * i modulo 96 of the new one. The last three
/// rows of the new table belong to no word.
VocabularyChange moved_words() {
  VocabularyChange change;
  for (int64_t i = 0; i < kOldWords; ++i) change.old_tokens.push_back("word " + std::to_string(5 * i % kNewWords));
  for (int64_t i = 0; i < kNewWords - 3; ++i) change.new_tokens.push_back("word " + std::to_string(i));
  return change;
}

class WarmStartJob : public ::testing::Test {
 protected:
  void SetUp() override {
    JobSpec spec = job(0, 1, 20);
    spec.warm_start.reset();
    spec.params = {{"words", kOldWords}};
    run_locally(old_, spec);
  }
  WarmStart warm_start() const { return {.from = old_.model_dir(), .vocabularies = {{"words/table", moved_words()}}}; }
  JobSpec job(int32_t servers, int32_t trainers, int64_t steps) const {
    JobSpec spec{
        .size = {.ps = servers, .workers = trainers - 1}, .model = table_model, .max_steps = steps, .input = ten_words};
    spec.params = {{"words", kNewWords}};
    spec.warm_start = warm_start();
    return spec;
  }
  static std::map<std::string, std::string> first_tensors(const Job& of) {
    return tensors(of.model_dir() + "/model.ckpt-0");
  }
  static int count_starts(const Job& of) { return of.log.count('I', "warm start: 3 of 3 variables"); }

  Job old_;
};

TEST_F(WarmStartJob, ServersBeginWithTheBitsOfOneProcess) {
  Job alone;
  run_locally(alone, job(0, 1, 12));
  const auto expected = first_tensors(alone);
  EXPECT_EQ(expected.at("out/kernel"), old_.last_tensors().at("out/kernel"));
  const size_t row = 8 * sizeof(float);  // Word 5 is row 1 of the old table.
  EXPECT_EQ(expected.at("words/table").substr(5 * row, row), old_.last_tensors().at("words/table").substr(row, row));
  for (const int32_t servers : {1, 2, 3}) {
    SCOPED_TRACE(std::to_string(servers) + " servers");
    Job cluster;
    run_job(cluster, job(servers, 1, 12));
    cluster.expect_all_ended_well();
    EXPECT_EQ(first_tensors(cluster), expected);
    EXPECT_EQ(cluster.last_step(), 12);
    EXPECT_EQ(cluster.last_tensors(), alone.last_tensors());
    EXPECT_EQ(count_starts(cluster), 1);
  }
}

TEST_F(WarmStartJob, SynchronousTrainersGiveTheBitsOfReplicas) {
  Job alone;
  JobSpec replicas = job(0, 1, 12);
  replicas.replicas = 3;
  run_locally(alone, replicas);
  EXPECT_EQ(count_starts(alone), 1);
  for (const int32_t servers : {1, 2}) {
    Job cluster;
    JobSpec spec = job(servers, 3, 12);
    spec.updates.kind = UpdateStrategyKind::kSync;
    run_job(cluster, spec);
    cluster.expect_all_ended_well();
    EXPECT_EQ(cluster.last_tensors(), alone.last_tensors()) << servers << " servers";
  }
}

/// Steps of asynchronous workers touch only the rows that they name; all others keep their initial values.
TEST_F(WarmStartJob, AsynchronousWorkersTrainTheWarmStartedModel) {
  Job alone;
  run_locally(alone, job(0, 1, 1));
  const std::string expected = first_tensors(alone).at("words/table").substr(10 * 8 * sizeof(float));
  for (const int32_t servers : {1, 2}) {
    Job cluster;
    run_job(cluster, job(servers, 3, 60));
    cluster.expect_all_ended_well();
    EXPECT_EQ(cluster.last_tensors().at("words/table").substr(10 * 8 * sizeof(float)), expected);
    EXPECT_EQ(count_starts(cluster), 1);
  }
}

TEST_F(WarmStartJob, ARestartedJobGoesOnFromItsOwnCheckpoint) {
  Job cluster;
  run_job(cluster, job(2, 1, 12));
  std::filesystem::remove_all(old_.model_dir());
  run_job(cluster, job(2, 1, 20));
  cluster.expect_all_ended_well();
  EXPECT_EQ(cluster.last_step(), 20);
  EXPECT_EQ(count_starts(cluster), 1);
}

TEST_F(WarmStartJob, ADamagedSourceEndsTheWholeJob) {
  const std::string data = old_.model_dir() + "/model.ckpt-20.data-00000-of-00001";
  std::string bytes = read_file(data);
  bytes[bytes.size() / 2] = char(bytes[bytes.size() / 2] ^ 1);
  write_file(data, bytes);
  Job cluster;
  run_job(cluster, job(2, 2, 12));
  const Result<void> chief = cluster.result_of("chief 0");
  ASSERT_FALSE(chief);
  EXPECT_EQ(chief.error().kind(), ErrorKind::kDataLoss);
  EXPECT_THAT(chief.error().message(), ::testing::HasSubstr("model.ckpt-20.data-00000-of-00001"));
  EXPECT_TRUE(retained(cluster.model_dir()).empty());
}

}  // namespace
}  // namespace shoal::testing
