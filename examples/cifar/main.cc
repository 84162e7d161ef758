// SPDX-License-Identifier: Apache-2.0
// Trains ResNet-20 to classify small colour pictures, or with --start-from retrains such a network for other classes. One
// process, a cluster of threads (--cluster), or one task of a cluster (TF_CONFIG).
#include <cstdio>
#include <mutex>

#include "augment.h"
#include "folders.h"
#include "network.h"
#include "pictures.h"
#include "shoal/shoal.h"

namespace {

const shoal::ProgramInfo kProgram{
    .description =
        "cifar: trains ResNet-20 to tell small colour pictures apart, and tests it on pictures that it has not seen.\n"
        "--data-dir (or SHOAL_DATA): the folder of the six files of CIFAR-10's binary version, or its parent. Without it "
        "the program draws pictures of ten patterns. Or --pictures: a folder of JPEG and PNG files.",
    .flags =
        {{"learning-rate", "At the first step; a tenth after half of --steps, a hundredth after three quarters", 0.1, {}},
         {"classes", "The classes to tell apart, three or more", std::vector<int64_t>{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}, {}},
         {"start-from", "A --model-dir: all layers but the last start as they are there", std::string(), {}},
         {"frozen", "With --start-from: only the last layer is trained", false, {}},
         {"pictures",
          "Instead of --data-dir: a folder with the folders train and test, which have a folder of JPEG and PNG files for "
          "each class",
          std::string(),
          {}},
         {"write-pictures", "Instead of training: write the pictures as PNG files, for --pictures", std::string(), {}},
         {"recompute", "Take less memory for a step, and more time; the results are the same", false, {}}},
    .steps = 4000,
    .batch = 128,
    .save_checkpoints_steps = 500,
    .throttle_secs = 10};

/// The pictures for all tasks of this process. The first task that needs them opens them.
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

struct Inputs {
  shoal::InputFn training, test;
};

/// Makes inputs that read picture files when a batch needs them.
Inputs inputs_of_files(const std::string& folder, size_t classes, int64_t batch) {
  const auto found = shoal::value_or_raise(shoal::data::images_by_class(shoal::join_path(folder, "train")));
  const auto held_out =
      shoal::value_or_raise(shoal::data::images_by_class(shoal::join_path(folder, "test"), {.classes = found.classes}));
  if (found.classes.size() != classes) {
    shoal::raise(shoal::invalid_argument(folder + " has " + std::to_string(found.classes.size()) +
                                         " classes: give as many numbers, as --classes 0,1,2"));
  }
  return {.training =
              [paths = found.dataset(), batch] {
                return cifar::augment(cifar::read_pictures(paths.shuffle(50000).repeat())).batch(batch).prefetch(2);
              },
          .test = [paths = held_out.dataset()] { return cifar::read_pictures(paths).batch(250); }};
}

/// Makes inputs of pictures that lie in memory.
Inputs inputs_of(const std::shared_ptr<cifar::Pictures>& pictures, int64_t batch) {
  return {.training =
              [pictures, batch] {
                const cifar::Images& all = pictures->training();
                const auto in_turn =
                    shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).shuffle(50000).repeat();
                return cifar::augment(in_turn).batch(batch).prefetch(2);
              },
          .test =
              [pictures] {
                const cifar::Images& all = pictures->test();
                return shoal::data::Dataset::from_tensor_slices(all.pixels, all.labels).batch(250);
              }};
}

void train(const shoal::RunConfig& config, const shoal::CommandLine& line, SharedPictures& shared) {
  const auto seed = uint64_t(config.random_seed().value_or(0));
  const std::string &folder = line.flags.get_string("pictures"), &target = line.flags.get_string("write-pictures");
  if (!target.empty()) {
    const std::shared_ptr<cifar::Pictures> pictures = shared.get(seed, line);
    cifar::write_folder(pictures->training(), shoal::join_path(target, "train"));
    cifar::write_folder(pictures->test(), shoal::join_path(target, "test"));
    return;
  }
  const Inputs inputs = folder.empty() ? inputs_of(shared.get(seed, line), line.batch)
                                       : inputs_of_files(folder, line.flags.get_ints("classes").size(), line.batch);
  shoal::Estimator estimator(cifar::classify, config,
                             {{"classes", line.flags.get_ints("classes")},
                              {"learning_rate", line.flags.get_real("learning-rate")},
                              {"steps", *line.steps},
                              {"frozen", line.flags.get_bool("frozen")},
                              {"recompute", line.flags.get_bool("recompute")}});
  const std::string& source = line.flags.get_string("start-from");
  if (!source.empty()) {
    // A list of patterns ({...}) chooses among all variables; a single pattern would leave out the moving averages.
    estimator.warm_start({.from = source, .variables = {"!logits/.*"}});
  } else if (line.flags.get_bool("frozen")) {
    shoal::raise(shoal::invalid_argument("--frozen needs --start-from: layers that were never trained would stay so"));
  }
  shoal::train_and_evaluate(estimator, {.input_fn = inputs.training, .max_steps = line.steps},
                            {.input_fn = inputs.test,
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
