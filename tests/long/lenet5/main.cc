// SPDX-License-Identifier: Apache-2.0
// Trains LeNet-5 on images that are drawn one by one, and prints how much memory the process had resident: what a training takes
// on a small board.
//
// LeCun, Bottou, Bengio and Haffner, "Gradient-Based Learning Applied to Document Recognition", 1998, with maxima as pools, and each
// filter of the second convolution on all channels: 61,706 parameters.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "shoal/base/random.h"
#include "shoal/estimator/hook.h"
#include "shoal/estimator/run.h"
#include "shoal/estimator/train_and_evaluate.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/head.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/pooling.h"

namespace {

namespace nn = shoal::nn;

constexpr int64_t kSide = 28, kClasses = 10;

const shoal::ProgramInfo kProgram{.description = "lenet5: trains LeNet-5, and prints how much memory that takes",
                                  .flags = {},
                                  .steps = 200,
                                  .batch = 1,
                                  .save_checkpoints_steps = 100};

shoal::EstimatorSpec lenet5(const shoal::Features& features, const shoal::Labels& labels, shoal::Mode mode,
                            const shoal::Params&, const shoal::RunConfig&) {
  shoal::Value x =
      nn::conv2d(features.single(),
                 {.filters = 6, .kernel = 5, .padding = shoal::Padding::same(), .activation = nn::Activation::kTanh});
  x = nn::conv2d(nn::max_pool(x), {.filters = 16, .kernel = 5, .activation = nn::Activation::kTanh});
  x = nn::flatten(nn::max_pool(x));
  x = nn::dense(x, {.units = 120, .activation = nn::Activation::kTanh});
  x = nn::dense(x, {.units = 84, .activation = nn::Activation::kTanh});
  nn::HeadInput input{.mode = mode, .labels = labels, .logits = nn::dense(x, {.units = kClasses})};
  if (mode == shoal::Mode::kTrain) input.optimizer = nn::sgd({.learning_rate = 0.001, .momentum = 0.9});
  return nn::multi_class_head({.n_classes = kClasses})->build(input);
}

/// Noise with two bright rows, whose place is the label; image `index` of an endless sequence.
shoal::data::Element drawn(int64_t index) {
  shoal::RandomStream random(uint64_t(index) + 1);
  const auto label = int64_t(random.below(kClasses));
  shoal::Tensor image(shoal::DType::kFloat32, {kSide, kSide, 1});
  int64_t i = 0;
  for (float& pixel : image.mutable_as<float>()) {
    const int64_t row = i++ / kSide - 4;
    pixel = 0.5f * random.next_float() + (row / 2 == label && row >= 0 ? 0.5f : 0.0f);
  }
  return {.features = {{"", image}}, .labels = {{"", shoal::Tensor::scalar(label)}}};
}

shoal::data::Dataset images(int64_t first_image, int64_t count) {
  return shoal::data::Dataset::from_resumable_generator([=](int64_t first) -> shoal::data::GeneratorFn {
    return [next = first, first_image, count](shoal::data::Element& element) mutable -> shoal::Result<bool> {
      if (next == count) return false;
      element = drawn(first_image + next++);
      return true;
    };
  });
}

/// Returns the most memory that the process has had resident, as the kernel counts it.
int64_t peak_resident_kib() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kib = 0;
    if (word == "VmHWM:" && status >> kib) return kib;
  }
  return 0;
}

/// Counts the pages that are resident now. Under qemu-user the kernel's count includes the emulator's own memory. This sum does not,
/// because there /proc/self/maps shows the program's memory alone.
int64_t resident_kib() {
  constexpr uint64_t kPage = 4096, kPresent = uint64_t(1) << 63;
  std::ifstream maps("/proc/self/maps");
  const int pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
  int64_t present = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%llx-%llx", &begin, &end) != 2) continue;
    std::vector<uint64_t> entries((end - begin) / kPage);
    const ssize_t bytes =
        pread(pages, entries.data(), entries.size() * sizeof(uint64_t), off_t(begin / kPage * sizeof(uint64_t)));
    if (bytes <= 0) continue;  // The kernel's own page at the end of the address space.
    present += std::count_if(entries.begin(), entries.begin() + bytes / ssize_t(sizeof(uint64_t)),
                             [](uint64_t entry) { return (entry & kPresent) != 0; });
  }
  close(pages);
  return present * int64_t(kPage / 1024);
}

/// Looks at what is resident now and then.
class MemoryHook final : public shoal::Hook {
 public:
  explicit MemoryHook(int64_t& most) : most_(most) {}
  void after_step(shoal::RunContext& run, const shoal::StepValues&) override {
    if (run.global_step() % 50 == 0) most_ = std::max(most_, resident_kib());
  }

 private:
  int64_t& most_;
};

void train(const shoal::RunConfig& config, const shoal::CommandLine& line) {
  shoal::Estimator estimator(lenet5, config);
  const auto training = [batch = line.batch] { return images(0, 60000).repeat().batch(batch); };
  const auto test = [] { return images(60000, 200).batch(1); };
  int64_t most = 0;
  shoal::train_and_evaluate(estimator,
                            {.input_fn = training, .max_steps = line.steps, .hooks = {std::make_shared<MemoryHook>(most)}},
                            {.input_fn = test, .start_delay_secs = 0});
  most = std::max(most, resident_kib());
  std::printf("resident at most: %lld KiB, by its pages %lld KiB\n", (long long)peak_resident_kib(), (long long)most);
}

}  // namespace

int main(int argc, char** argv) {
  return shoal::run(argc, argv, kProgram,
                    [](const shoal::RunConfig& config, const shoal::CommandLine& line) { train(config, line); });
}
