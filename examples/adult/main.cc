// SPDX-License-Identifier: Apache-2.0
// Predicts whether a person earns more than 50,000 dollars a year: a wide and deep model of the adult census data.
#include <algorithm>
#include <fstream>

#include "shoal/shoal.h"

namespace {

using namespace shoal::columns;
using shoal::data::Element;
namespace nn = shoal::nn;

Element without_dot(Element person) {  // The test file ends each label with a dot.
  std::string& income = person.labels.single().mutable_strings()[0];
  income.resize(std::min(income.size(), income.find('.')));
  return person;
}

/// The number of lines before the first person: 1 for "|1x3 Cross validator", which some copies of the test file lack.
int64_t remarks_in(const std::string& file) { return std::ifstream(file).peek() == '|' ? 1 : 0; }

/// Makes the optimizer that the flags choose. Its learning rate falls linearly to almost zero at the last step.
shoal::OptimizerChoice optimizer_of(const shoal::CommandLine& line) {
  const nn::LearningRate rate =
      nn::polynomial_decay({.initial = line.flags.get_real("learning-rate"), .decay_steps = uint64_t(line.steps.value())});
  if (line.flags.get_string("optimizer") == "adam") return nn::adam({.learning_rate = rate});
  return nn::adagrad({.learning_rate = rate});
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string file = line.data_file("adult", "adult.data");
  shoal::data::CsvOptions table{.labels = {"income"}, .missing_text = "?", .trim_blanks = true};
  table.columns = csv_columns(
      file, table,
      {.names = {"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
                 "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"}});
  auto training = shoal::data::Dataset::csv({file}, table).cache();
  auto test = training;
  if (line.flags.get_bool("held-out")) {
    const auto parts = training.split(0.1);
    training = parts.training;
    test = parts.held_out;
  } else {
    const std::string test_file = line.data_file("adult", "adult.test");
    table.header_lines = remarks_in(test_file);
    test = shoal::data::Dataset::csv({test_file}, table).map(without_dot);
  }
  const Statistics statistics = config.learned("statistics", [&] { return statistics_of(training); });

  std::vector<Column> wide{crossed({"education", "occupation"}, {.buckets = 128})}, deep;
  for (const char* key : {"age", "education_num", "hours_per_week"}) {
    deep.push_back(numeric(key, {.normalizer = statistics.number(key).standardizer()}));
  }
  for (const char* key :
       {"workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"}) {
    wide.push_back(categorical_by_vocabulary(key, statistics.text(key).vocabulary(), {.missing_bucket = true}));
    deep.push_back(embedding(wide.back(), {.dimension = line.flags.get_int("embedding")}));
  }
  const Boundaries boundaries = config.learned("boundaries", [&] {
    return boundaries_of(training, {"age", "hours_per_week", "capital_gain", "capital_loss"}, {.buckets = 128});
  });
  for (const auto& [key, between] : boundaries) {
    wide.push_back(bucketized(numeric(key), between));
    deep.push_back(wide.back());
  }
  // Reads the files of --predict, which list people of unknown income: the same columns without the last one.
  const auto unknown = [table](const std::string& path) {
    shoal::data::CsvOptions without_income = table;
    without_income.header_lines = 0;
    without_income.labels.clear();
    without_income.columns.pop_back();
    return shoal::data::Dataset::csv({path}, without_income).batch(500);
  };
  shoal::Estimator estimator = shoal::wide_and_deep_classifier({.linear = {.columns = wide},
                                                                .dnn = {.columns = deep,
                                                                        .hidden_units = line.flags.get_ints("hidden-units"),
                                                                        .dropout = line.flags.get_real("dropout"),
                                                                        .optimizer = optimizer_of(line)}},
                                                               {.label_vocabulary = {"<=50K", ">50K"}}, config);
  shoal::train_and_evaluate(
      estimator,
      {.input_fn = training.shuffle(32561).repeat().batch(line.batch), .max_steps = line.steps, .predict_input = unknown},
      {.input_fn = test.batch(500),
       .steps = {},
       .throttle_secs = line.throttle_secs,
       .start_delay_secs = 0,
       .exporters = {shoal::best_exporter("best")}});
}

}  // namespace

int main(int argc, char** argv) {
  const shoal::ProgramInfo program{
      .description = "adult: who earns more than 50,000 dollars a year?",
      .flags = {{"hidden-units", "Units of each hidden layer", std::vector<int64_t>{64, 32}, {}},
                {"embedding", "Numbers that stand for each text of a column", int64_t{8}, {}},
                {"dropout", "The part of the hidden units that each training step leaves out", 0.0, {}},
                {"optimizer", "What trains the deep part", std::string("adagrad"), {"adagrad", "adam"}},
                {"learning-rate", "The learning rate of the deep part at the first step", 0.05, {}},
                {"held-out",
                 "Train on nine tenths of adult.data and evaluate on the other tenth, without adult.test",
                 false,
                 {}}},
      .steps = 6000,
      .batch = 64,
      .save_checkpoints_steps = 1000,
      .throttle_secs = 10};
  return shoal::run(argc, argv, program, train);
}
