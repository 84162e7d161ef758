// SPDX-License-Identifier: Apache-2.0
// Trains models of bench/models with dlib, for bench/peers/instructions.
//
//   train_dlib --model mlp|lenet5|resnet20 --batch N --threads 1 --steps N
//
// Trains so many steps on random batches, writes the number of parameters and ends. dlib normalizes no batch of one, so that there is no
// ResNet-20 of that size.
#include <dlib/dnn.h>

#include <array>
#include <cstdio>
#include <iostream>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "program.h"

namespace {

using Grey = dlib::matrix<float>;
using Colours = std::array<dlib::matrix<float>, 3>;

template <class Input>
using Mlp =
    dlib::loss_multiclass_log<dlib::fc<10, dlib::relu<dlib::fc<512, dlib::relu<dlib::fc<512, dlib::input<Input>>>>>>>;

template <long kFilters, class Below>
using PaddedConv5 = dlib::add_layer<dlib::con_<kFilters, 5, 5, 1, 1, 2, 2>, Below>;
template <long kFilters, class Below>
using PlainConv5 = dlib::add_layer<dlib::con_<kFilters, 5, 5, 1, 1, 0, 0>, Below>;
template <class Below>
using Pool = dlib::max_pool<2, 2, 2, 2, Below>;
template <class Input>
using Lenet5 = dlib::loss_multiclass_log<dlib::fc<
    10, dlib::relu<dlib::fc<
            84, dlib::relu<dlib::fc<
                    120, Pool<dlib::relu<PlainConv5<16, Pool<dlib::relu<PaddedConv5<6, dlib::input<Input>>>>>>>>>>>>>;

template <long kFilters, long kStride, class Below>
using Conv3 = dlib::bn_con<dlib::add_layer<dlib::con_<kFilters, 3, 3, kStride, kStride, 1, 1>, Below>>;
template <long kFilters, long kStride, class Below>
using TwoConvs = Conv3<kFilters, 1, dlib::relu<Conv3<kFilters, kStride, Below>>>;
template <long kFilters, class Below>
using Block = dlib::relu<dlib::add_prev1<TwoConvs<kFilters, 1, dlib::tag1<Below>>>>;
/// A block that halves the picture has a convolution of 1x1 beside its two.
template <long kFilters, class Below>
using HalvingBlock = dlib::relu<dlib::add_prev2<dlib::bn_con<dlib::add_layer<
    dlib::con_<kFilters, 1, 1, 2, 2, 0, 0>, dlib::skip1<dlib::tag2<TwoConvs<kFilters, 2, dlib::tag1<Below>>>>>>>>;
template <long kFilters, class Below>
using HalvingStage = Block<kFilters, Block<kFilters, HalvingBlock<kFilters, Below>>>;
template <class Below>
using FirstStage = Block<16, Block<16, Block<16, Below>>>;
template <class Input>
using Resnet20 = dlib::loss_multiclass_log<
    dlib::fc<10, dlib::avg_pool_everything<
                     HalvingStage<64, HalvingStage<32, FirstStage<dlib::relu<Conv3<16, 1, dlib::input<Input>>>>>>>>>;

struct Options {
  std::string model;
  int batch = 1, threads = 1, steps = 1;
};

void fill(Grey& image, long side, std::mt19937& random) {
  image.set_size(side, side);
  for (float& pixel : image) pixel = std::uniform_real_distribution<float>()(random);
}
void fill(Colours& image, long side, std::mt19937& random) {
  for (Grey& channel : image) fill(channel, side, random);
}

template <class Net, class Image>
void train(const Options& options, long side) {
  constexpr int kBatches = 8;  // Different ones, taken in turn.
  std::mt19937 random(1);
  std::vector<std::vector<Image>> images(kBatches, std::vector<Image>(size_t(options.batch)));
  std::vector<std::vector<unsigned long>> labels(kBatches);
  for (int i = 0; i < kBatches; ++i) {
    for (Image& image : images[size_t(i)]) {
      fill(image, side, random);
      labels[size_t(i)].push_back(random() % 10);
    }
  }
  const auto net = std::make_unique<Net>();
  dlib::disable_duplicative_biases(*net);
  dlib::dnn_trainer<Net> trainer(*net, dlib::sgd(0, 0.9f));
  trainer.set_learning_rate(0.01);
  trainer.set_iterations_without_progress_threshold(1000000);
  for (int step = 0; step < options.steps; ++step) {
    trainer.train_one_step(images[size_t(step % kBatches)], labels[size_t(step % kBatches)]);
  }
  trainer.get_net(dlib::force_flush_to_disk::no);  // It waits for the last step.
  std::printf("%zu\n", size_t(dlib::count_parameters(*net)));
}

Options parse(int argc, char** argv) {
  Options options;
  CLI::App app("Trains a model of bench/models with dlib for some steps");
  app.add_option("--model", options.model)->required()->check(CLI::IsMember({"mlp", "lenet5", "resnet20"}));
  app.add_option("--batch", options.batch)->required()->check(CLI::PositiveNumber);
  app.add_option("--threads", options.threads)->check(CLI::IsMember({1}));
  app.add_option("--steps", options.steps)->required()->check(CLI::PositiveNumber);
  shoal::bench::parse_or_exit(app, argc, argv);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  return shoal::bench::run_program("train_dlib", [&]() -> shoal::Result<void> {
    if (options.model == "mlp") train<Mlp<Grey>, Grey>(options, 28);
    if (options.model == "lenet5") train<Lenet5<Grey>, Grey>(options, 28);
    if (options.model == "resnet20" && options.batch == 1) {
      return shoal::invalid_argument("dlib normalizes no batch of one example");
    }
    if (options.model == "resnet20") train<Resnet20<Colours>, Colours>(options, 32);
    return {};
  });
}
