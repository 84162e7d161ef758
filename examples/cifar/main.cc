// SPDX-License-Identifier: Apache-2.0
// Trains ResNet-20 to tell small colour pictures apart; or, with --start-from, takes what such a network has learned and
// teaches it other classes. One process, a cluster of threads (--cluster), or one task of a cluster (TF_CONFIG).
#include <cstdio>
#include <mutex>

#include "augment.h"
#include "network.h"
#include "pictures.h"
#include "shoal/shoal.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "cifar: trains ResNet-20 to tell small colour pictures apart, and tests it on pictures that it has not seen.\n"
        "--data-dir (or SHOAL_DATA): the folder of the six files of CIFAR-10's binary version, or its parent. Without it\n"
        "the program draws pictures of ten patterns.",
    .flags =
        {{"learning-rate", "At the first step; a tenth after half of --steps, a hundredth after three quarters", 0.1, {}},
         {"classes", "The classes to tell apart, three or more", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {}},
         {"start-from", "A --model-dir: all layers but the last start as they are there", std::string(), {}},
         {"frozen", "With --start-from: only the last layer is trained", false, {}},
         {"recompute", "Take less memory for a step, and more time; the results are the same", false, {}}},
    .steps = 4000,
    .batch = 128,
    .save_checkpoints_steps = 500,
    .throttle_secs = 10};

/// The pictures, opened by the first task of this process that asks.
class SharedPictures {
 public:
  std::shared_ptr<cifar::Pictures> get(uint64_t seed, const shoal::CommandLine& line) {
    const std::lock_guard lock(mutex_);
    if (!pictures_) {
      pictures_ = std::make_shared<cifar::Pictures>(line, line.flags.get_ints("classes"), seed);
      if (pictures_->drawn()) {
        std::fprintf(stderr,
                     "No --data-dir and no SHOAL_DATA: this run trains and tests on patterns that the program draws\n");
      }
    }
    return pictures_;
  }

 private:
  std::mutex mutex_;
  std::shared_ptr<cifar::Pictures> pictures_;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line, SharedPictures& shared) {
  const auto seed = uint64_t(config.random_seed().value_or(0));
  const std::shared_ptr<cifar::Pictures> pictures = shared.get(seed, line);
  const auto training = [pictures, seed, batch = line.batch] {
    const cifar::Images& all = pictures->training();
    const auto in_turn = shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).shuffle(50000).repeat();
    return cifar::augment(in_turn, shoal::fold_in(seed, "augment")).batch(batch).prefetch(2);
  };
  const auto test = [pictures] {
    const cifar::Images& all = pictures->test();
    return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).batch(250);
  };
  shoal::Estimator estimator(cifar::classify, config,
                             {{"classes", line.flags.get_ints("classes")},
                              {"learning_rate", line.flags.get_real("learning-rate")},
                              {"steps", *line.steps},
                              {"frozen", line.flags.get_bool("frozen")},
                              {"recompute", line.flags.get_bool("recompute")}});
  const std::string& source = line.flags.get_string("start-from");
  if (!source.empty()) {
    // A list chooses among all variables, so that the moving averages of normalizations come along.
    estimator.warm_start({.from = source, .variables = {"(?!logits/).*"}});
  } else if (line.flags.get_bool("frozen")) {
    shoal::raise(shoal::invalid_argument("--frozen needs --start-from: layers that were never trained would stay so"));
  }
  shoal::train_and_evaluate(estimator, {.input_fn = training, .max_steps = line.steps},
                            {.input_fn = test,
                             .steps = {},  // All test pictures are evaluated.
                             .throttle_secs = line.throttle_secs,
                             .start_delay_secs = 0,
                             .exporters = {shoal::best_exporter("best"), shoal::final_exporter("final")}});
}

}  // namespace

int main(int argc, char** argv) {
  SharedPictures pictures;
  return shoal::run(argc, argv, kProgram, [&pictures](const shoal::RunConfig& config, const shoal::CommandLine& line) {
    train(config, line, pictures);
  });
}
