// SPDX-License-Identifier: Apache-2.0
// Trains a small network to read handwritten digits. One process, a cluster of threads (--cluster), or one task of a
// cluster (TF_CONFIG): the same program.
#include <cstdio>
#include <mutex>

#include "images.h"
#include "model.h"
#include "records.h"
#include "shoal/base/storage.h"
#include "shoal/estimator/exporter.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "mnist: trains a network to read handwritten digits, and tests it on 10,000 that it has not seen.\n"
        "--data-dir (or SHOAL_DATA): the folder of the four MNIST files, plain or .gz, or its parent. Without it "
        "the program draws its own digits. Or --records: a folder of TFRecord files.",
    .flags = {{"model",
               "What to train: mlp (two dense layers), lenet5 (two small convolutions) or cnn (two large ones)",
               std::string("cnn"),
               {"mlp", "lenet5", "cnn"}},
              {"records",
               "Instead of --data-dir: a folder with train.tfrecord and test.tfrecord, whose records are tf.Example with "
               "image_raw and label",
               std::string(),
               {}},
              {"write-records", "Instead of training: write the images as such files, for --records", std::string(), {}},
              {"learning-rate", "Adam's learning rate at the first step; it goes down to a tenth over --steps", 1e-3, {}}},
    .steps = 2000,
    .batch = 64,
    .save_checkpoints_steps = 500,
    .throttle_secs = 10};

/// The images for all tasks of this process. The first task that needs them opens them.
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

shoal::InputFn training_of(SharedImages& shared, const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string& records = line.flags.get_string("records");
  if (!records.empty()) {
    return [path = shoal::join_path(records, "train.tfrecord"), batch = line.batch] {
      return mnist::read_records(path, true).repeat().batch(batch).prefetch(2);
    };
  }
  return [images = shared.get(config, line), batch = line.batch] {
    const mnist::Images& all = images->training();
    return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels)
        .shuffle(60000)
        .repeat()
        .batch(batch)
        .prefetch(2);
  };
}

shoal::InputFn test_of(SharedImages& shared, const shoal::RunConfig& config, const shoal::CommandLine& line) {
  const std::string& records = line.flags.get_string("records");
  if (!records.empty()) {
    return [path = shoal::join_path(records, "test.tfrecord")] { return mnist::read_records(path, false).batch(500); };
  }
  return [images = shared.get(config, line)] {
    const mnist::Images& all = images->test();
    return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).batch(500);
  };
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line, SharedImages& shared) {
  const std::string& target = line.flags.get_string("write-records");
  if (!target.empty()) {
    shoal::value_or_raise(shoal::make_file_storage()->make_folders(target));
    mnist::write_records(shared.get(config, line)->training(), shoal::join_path(target, "train.tfrecord"));
    mnist::write_records(shared.get(config, line)->test(), shoal::join_path(target, "test.tfrecord"));
    return;
  }
  shoal::Estimator estimator(model_of(line.flags.get_string("model")), config,
                             {{"learning_rate", line.flags.get_real("learning-rate")}, {"steps", *line.steps}});
  shoal::train_and_evaluate(estimator, {.input_fn = training_of(shared, config, line), .max_steps = line.steps},
                            {.input_fn = test_of(shared, config, line),
                             .steps = {},  // All test images are evaluated.
                             .throttle_secs = line.throttle_secs,
                             .start_delay_secs = 0,
                             .exporters = {shoal::best_exporter("best"), shoal::final_exporter("final")}});
}

}  // namespace

int main(int argc, char** argv) {
  SharedImages images;
  return shoal::run(argc, argv, kProgram, [&images](const shoal::RunConfig& config, const shoal::CommandLine& line) {
    train(config, line, images);
  });
}
