// Trains a wide and deep model on the adult census data: who earns more than 50,000 dollars a year?
#include "census.h"
#include "model.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "wide_and_deep: trains on the adult census data, and tests on people that it has not seen.\n"
        "--data-dir (or SHOAL_DATA): the folder of adult.data and adult.test, or its parent.",
    .flags = {{"learning-rate", "Adagrad's learning rate at the first step; it goes down to 0 over --steps", 0.05, {}}},
    .steps = 6000,
    .batch = 64,
    .save_checkpoints_steps = 1000,
    .throttle_secs = 10};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  using namespace wide_and_deep;
  if (!line.data_dir) {
    shoal::raise(shoal::invalid_argument("there is no data: give --data-dir, or set SHOAL_DATA"));
  }
  const auto training = [folder = *line.data_dir, batch = line.batch] {
    return census(folder, Part::kTraining).shuffle(32561).repeat().batch(batch).prefetch(2);
  };
  const auto test = [folder = *line.data_dir] { return census(folder, Part::kTest).batch(500); };
  shoal::Estimator estimator(census_model, config,
                             {{"learning_rate", line.flags.get_real("learning-rate")}, {"steps", *line.steps}});
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps},
                            {.input_fn = test, .steps = {}, .throttle_secs = line.throttle_secs, .start_delay_secs = 0});
}

}  // namespace

int main(int argc, char** argv) { return shoal::run(argc, argv, kProgram, train); }
