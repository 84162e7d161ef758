// SPDX-License-Identifier: Apache-2.0
// Trains a small network to read handwritten digits. One process, a cluster of threads (--cluster), or one task of a
// cluster (TF_CONFIG): the same program.
#include <cstdio>
#include <mutex>

#include "images.h"
#include "model.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "mnist: trains a network to read handwritten digits, and tests it on 10,000 that it has not seen.\n"
        "--data-dir (or SHOAL_DATA): the folder of the four MNIST files, plain or .gz, or its parent. Without it\n"
        "the program draws its own digits.",
    .flags =
        {{"model", "What to train: mlp (two dense layers), lenet5 (two small convolutions) or cnn (two large ones)", std::string("cnn"),
          {"mlp", "lenet5", "cnn"}},
         {"learning-rate", "Adam's learning rate at the first step; it goes down to a tenth over --steps", 1e-3, {}}},
    .steps = 2000,
    .batch = 64,
    .save_checkpoints_steps = 500,
    .throttle_secs = 10};

/// The images, opened by the first task of this process that asks.
class SharedImages {
 public:
  std::shared_ptr<mnist::ImageSource> get(const shoal::RunConfig& config, const shoal::CommandLine& line) {
    std::call_once(opened_, [&] {
      images_ = std::make_shared<mnist::ImageSource>(line.data_dir, uint64_t(config.random_seed().value_or(0)));
      if (images_->drawn()) {
        std::fprintf(
            stderr, "No --data-dir and no SHOAL_DATA: this run trains and tests on digits that the program draws itself\n");
      }
    });
    return images_;
  }

 private:
  std::once_flag opened_;
  std::shared_ptr<mnist::ImageSource> images_;
};

auto model_of(const std::string& name) {
  if (name == "mlp") return mnist::mlp;
  return name == "lenet5" ? mnist::lenet5 : mnist::cnn;
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line, std::shared_ptr<mnist::ImageSource> images) {
  const auto training = [images, batch = line.batch] {
    const mnist::Images& all = images->training();
    return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels)
        .shuffle(60000)
        .repeat()
        .batch(batch)
        .prefetch(2);
  };
  const auto test = [images] {
    const mnist::Images& all = images->test();
    return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).batch(500);
  };
  shoal::Estimator estimator(model_of(line.flags.get_string("model")), config,
                             {{"learning_rate", line.flags.get_real("learning-rate")}, {"steps", *line.steps}});
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps},
                            {.input_fn = test,
                             .steps = {},  // All test images are evaluated.
                             .throttle_secs = line.throttle_secs,
                             .start_delay_secs = 0,
                             .exporters = {shoal::best_exporter("best"), shoal::final_exporter("final")}});
}

}  // namespace

int main(int argc, char** argv) {
  SharedImages images;
  return shoal::run(argc, argv, kProgram, [&images](shoal::RunConfig config, const shoal::CommandLine& line) {
    train(config, line, images.get(config, line));
  });
}
