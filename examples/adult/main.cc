// SPDX-License-Identifier: Apache-2.0
// Predicts who earns more than 50,000 dollars a year: a wide and deep model of the adult census data, by feature columns.
#include <fstream>

#include "shoal/shoal.h"

namespace {

using namespace shoal::columns;
using shoal::data::Element;
namespace nn = shoal::nn;

Element without_dot(Element person) {  // The test file ends labels with one.
  std::string& income = person.labels.single().mutable_strings()[0];
  income.resize(std::min(income.size(), income.find('.')));
  return person;
}

/// How many lines come before the people: the test file begins with "|1x3 Cross validator", but not all copies of it do.
int64_t remarks_in(const std::string& file) { return std::ifstream(file).peek() == '|' ? 1 : 0; }

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string file = line.data_file("adult", "adult.data");
  shoal::data::CsvOptions table{.labels = {"income"}, .missing_text = "?", .trim_blanks = true};
  table.columns = csv_columns(
      file, table,
      {.names = {"age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation", "relationship",
                 "race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country", "income"}});
  const auto training = shoal::data::Dataset::csv({file}, table).cache();
  const std::string test_file = line.data_file("adult", "adult.test");
  table.header_lines = remarks_in(test_file);
  const auto test = shoal::data::Dataset::csv({test_file}, table).map(without_dot);
  const Statistics statistics = config.learned("statistics", [&] { return statistics_of(training); });

  std::vector<Column> wide{crossed({"education", "occupation"}, {.buckets = 1000})}, deep;
  for (const char* key : {"age", "education_num", "hours_per_week"}) {
    deep.push_back(numeric(key, {.normalizer = statistics.number(key).standardizer()}));
  }
  for (const char* key :
       {"workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "native_country"}) {
    wide.push_back(categorical_by_vocabulary(key, statistics.text(key).vocabulary(), {.missing_bucket = true}));
    deep.push_back(embedding(wide.back(), {.dimension = 8}));
  }
  const std::vector<double> dollars{1,    1500, 1700, 1850, 2000, 2200,  3000, 3500,
                                    4500, 5000, 6000, 7000, 8000, 10000, 15000};
  for (const Column& column :
       {bucketized(numeric("age"), {18, 25, 30, 35, 40, 45, 50, 55, 60, 65}),
        bucketized(numeric("hours_per_week"), {20, 35, 40, 41, 50, 60}), bucketized(numeric("capital_gain"), dollars),
        bucketized(numeric("capital_loss"), dollars)}) {
    wide.push_back(column);
    deep.push_back(column);
  }
  // For --predict: people whose income nobody knows, in the same columns without the last.
  const auto unknown = [table](const std::string& path) {
    shoal::data::CsvOptions without_income = table;
    without_income.header_lines = 0;
    without_income.labels.clear();
    without_income.columns.pop_back();
    return shoal::data::Dataset::csv({path}, without_income).batch(500);
  };
  const nn::LearningRate rate = nn::polynomial_decay({.initial = 0.05, .decay_steps = uint64_t(line.steps.value())});
  shoal::Estimator estimator = shoal::wide_and_deep_classifier({.linear = {.columns = wide},
                                                                .dnn = {.columns = deep,
                                                                        .hidden_units = line.flags.get_ints("hidden-units"),
                                                                        .optimizer = nn::adagrad({.learning_rate = rate})}},
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
      .flags = {{"hidden-units", "Units of each hidden layer", std::vector<int64_t>{64, 32}, {}}},
      .steps = 6000,
      .batch = 64,
      .save_checkpoints_steps = 1000,
      .throttle_secs = 10};
  return shoal::run(argc, argv, program, train);
}
