// Trains a small network to read handwritten digits. One process, a cluster of threads (--cluster), or one task of a
// cluster (TF_CONFIG): the same program.
#include <cstdio>

#include "images.h"
#include "model.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"

int main(int argc, char** argv) {
  const shoal::ProgramInfo program{
      .description = "mnist: trains a network to read handwritten digits",
      .flags = {{"model", "mlp (dense layers) or cnn (convolutions)", std::string("cnn"), {"mlp", "cnn"}},
                {"learning-rate", "Learning rate of Adam", 1e-3, {}}},
      .steps = 2000,
      .batch = 64,
      .save_checkpoints_steps = 500,
      .throttle_secs = 10};
  std::shared_ptr<mnist::ImageSource> images;  // shared by the tasks of this process
  std::once_flag opened;
  return shoal::run(argc, argv, program, [&](shoal::RunConfig config, const shoal::CommandLine& line) {
    std::call_once(opened, [&] {
      images = std::make_shared<mnist::ImageSource>(line.data_dir, uint64_t(config.random_seed().value_or(0)));
      if (images->drawn()) std::fprintf(stderr, "No --data-dir and no SHOAL_DATA: training on digits that this program draws itself\n");
    });
    const auto training = [images, batch = line.batch] {
      const mnist::Images& all = images->training();
      return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).shuffle(60000).repeat().batch(batch).prefetch(2);
    };
    const auto test = [images] {
      const mnist::Images& all = images->test();
      return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).batch(500);
    };
    shoal::Estimator estimator(line.flags.get_string("model") == "mlp" ? mnist::mlp : mnist::cnn, config,
                               {{"learning_rate", line.flags.get_real("learning-rate")}});
    shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps},
                              {.input_fn = test, .steps = {}, .throttle_secs = line.throttle_secs, .start_delay_secs = 0});
  });
}
