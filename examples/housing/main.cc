// SPDX-License-Identifier: Apache-2.0
// Predicts the value of houses: a DNN regressor of the census districts of California in 1990. --baseline trains a model
// that ignores all features, for comparison.
#include "shoal/shoal.h"

namespace {

using namespace shoal::columns;
using shoal::data::Element;
namespace nn = shoal::nn;
constexpr int64_t kDistricts = 20640;

Element in_100_000_dollars(Element district) {
  return {district.features, shoal::Tensor::scalar(district.labels.single().as<float>()[0] / 100000)};
}

std::vector<Column> columns_of(const Statistics& statistics) {
  const Column coast = categorical_by_vocabulary("ocean_proximity", statistics.text("ocean_proximity").vocabulary());
  std::vector<Column> columns{indicator(coast)};
  for (const char* key : {"longitude", "latitude", "housing_median_age", "median_income"}) {
    columns.push_back(numeric(key, {.normalizer = statistics.number(key).standardizer()}));
  }
  const auto logarithm = [](shoal::Value amount) { return log1p_normalizer()(amount) - 7.0; };
  for (const char* key : {"total_rooms", "total_bedrooms", "population", "households"}) {
    columns.push_back(numeric(key, {.default_value = statistics.number(key).mean, .normalizer = logarithm}));
  }
  return columns;
}

shoal::Experiment make_experiment(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string file = line.data_file("housing", "housing.csv");
  shoal::data::CsvOptions table{.labels = {"median_house_value"}, .header_lines = 1};
  table.columns = csv_columns(file, table);
  const shoal::data::Split districts = shoal::data::Dataset::csv({file}, table).map(in_100_000_dollars).split(0.1);
  const auto training = districts.training.cache();
  const auto measure = [&] { return statistics_of(training); };
  // Reads the files of --predict, which list districts of unknown value and may lack the column of values.
  const auto unknown = [table](const std::string& path) {
    shoal::data::CsvOptions without_value = table;
    without_value.labels.clear();
    std::erase_if(without_value.columns, [](const auto& column) { return column.name == "median_house_value"; });
    return shoal::data::Dataset::csv({path}, without_value).batch(500);
  };
  const nn::LearningRate rate = nn::polynomial_decay({.initial = 0.003, .decay_steps = uint64_t(line.steps.value())});
  shoal::Estimator estimator = line.flags.get_bool("baseline")
                                   ? shoal::baseline_regressor({}, {}, config)
                                   : shoal::dnn_regressor({.columns = columns_of(config.learned("statistics", measure)),
                                                           .hidden_units = {64, 64},
                                                           .optimizer = nn::adam({.learning_rate = rate})},
                                                          {}, config);
  estimator = shoal::add_metrics(estimator, [](const shoal::MetricsInput& of) -> shoal::NamedMetrics {
    return {{"rmse",
             nn::root_mean_squared_error({.labels = of.labels.single(), .predictions = of.predictions["predictions"]})}};
  });
  return {.estimator = estimator,
          .train_spec = {.input_fn = training.shuffle(kDistricts).repeat().batch(line.batch),
                         .max_steps = line.steps,
                         .predict_input = unknown},
          .eval_spec = {.input_fn = districts.held_out.batch(500),
                        .steps = {},
                        .throttle_secs = line.throttle_secs,
                        .start_delay_secs = 0,
                        .exporters = {shoal::best_exporter("best")}}};
}

}  // namespace

int main(int argc, char** argv) {
  const shoal::ProgramInfo program{.description = "housing: what does a house cost? Values are in 100,000 dollars.",
                                   .flags = {{"baseline", "predict the mean of all, for comparison", false, {}}},
                                   .steps = 6000,
                                   .batch = 64,
                                   .save_checkpoints_steps = 2000,
                                   .throttle_secs = 10};
  return shoal::run_experiment(argc, argv, program, make_experiment);
}
