// SPDX-License-Identifier: Apache-2.0
// A tiny program for searches: a line through some points, and ways to fail.
#include <cstdlib>
#include <string>
#include <thread>

#include "shoal/base/storage.h"
#include "shoal/shoal.h"

namespace {

/// y = 2 x for x from 0 to 1.
shoal::data::Dataset points() {
  std::vector<float> x(32), y(32);
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] = float(i) / 32;
    y[i] = 2 * x[i];
  }
  return shoal::data::Dataset::from_tensor_slices({{"x", shoal::Tensor::of<float>({32, 1}, x)}},
                                                  shoal::Tensor::of<float>({32, 1}, y));
}

/// Does before training what the flag says.
void misbehave(const std::string& how, const shoal::RunConfig& config) {
  const std::string once = config.model_dir().value() + "/was_here";
  if (how == "always") shoal::raise(shoal::unavailable("this trial always fails"));
  if (how == "usage") shoal::raise(shoal::invalid_argument("this trial can never work"));
  if (how == "nan") shoal::raise(shoal::nan_loss("the loss is NaN at step 3"));
  const auto storage = shoal::make_file_storage();
  if (how == "once" && !storage->exists(once)) {
    static_cast<void>(storage->make_folders(config.model_dir().value()));
    static_cast<void>(storage->write_atomically(once, "1"));
    std::abort();
  }
}

/// A step takes so long.
class Slow : public shoal::Hook {
 public:
  explicit Slow(int64_t milliseconds) : pause_(milliseconds) {}
  void after_step(shoal::RunContext&, const shoal::StepValues&) override {
    if (pause_.count() > 0) std::this_thread::sleep_for(pause_);
  }

 private:
  std::chrono::milliseconds pause_;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  misbehave(line.flags.get_string("fail"), config);
  shoal::Estimator estimator =
      shoal::linear_regressor({.columns = {shoal::columns::numeric("x")},
                               .optimizer = shoal::nn::sgd({.learning_rate = line.flags.get_real("learning-rate")})},
                              {}, config);
  shoal::TrainSpec training{.input_fn = points().repeat().batch(line.batch), .max_steps = line.steps};
  training.hooks.push_back(std::make_shared<Slow>(line.flags.get_int("slow")));
  shoal::train_and_evaluate(estimator, std::move(training),
                            {.input_fn = points().batch(32),
                             .steps = {},
                             .throttle_secs = line.throttle_secs,
                             .start_delay_secs = 0,
                             .exporters = {shoal::best_exporter("best")}});
}

}  // namespace

int main(int argc, char** argv) {
  const shoal::ProgramInfo program{
      .description = "A tiny program for searches",
      .flags = {{"learning-rate", "The learning rate", 0.1, {}},
                {"fail", "How to fail", std::string("never"), {"never", "once", "always", "usage", "nan"}},
                {"slow", "Milliseconds that a step takes longer", int64_t{0}, {}}},
      .steps = 20,
      .batch = 8};
  return shoal::run(argc, argv, program, train);
}
