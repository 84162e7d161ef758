// SPDX-License-Identifier: Apache-2.0
#include "pictures.h"

#include <mutex>
#include <numeric>
#include <optional>

#include "patterns.h"

namespace cifar {
namespace {

std::vector<int64_t> all_classes() {
  std::vector<int64_t> classes(static_cast<size_t>(kClasses));
  std::iota(classes.begin(), classes.end(), 0);
  return classes;
}

}  // namespace

struct Pictures::Lazy {
  std::mutex mutex;
  std::optional<Images> images;
  template <class Load>
  const Images& get(Load&& load) {
    const std::lock_guard lock(mutex);
    if (!images) images = load();
    return *images;
  }
};

Pictures::Pictures(const shoal::CommandLine& line, std::vector<int64_t> classes, uint64_t seed)
    : line_(line),
      classes_(std::move(classes)),
      seed_(seed),
      training_(std::make_unique<Lazy>()),
      test_(std::make_unique<Lazy>()) {}
Pictures::~Pictures() = default;

Images Pictures::load(const std::vector<std::string>& names, int64_t count, uint64_t seed) const {
  std::vector<std::string> paths;
  if (!drawn()) {
    for (const std::string& name : names) paths.push_back(line_.data_file("cifar-10-batches-bin", name));
  }
  Images all =
      drawn() ? draw_patterns(count, seed) : shoal::value_or_raise(read_records(*shoal::make_file_storage(), paths));
  return classes_ == all_classes() ? all : of_classes(all, classes_);
}

const Images& Pictures::training() {
  return training_->get([this] {
    return load({"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin", "data_batch_4.bin", "data_batch_5.bin"}, 20000,
                seed_);
  });
}

const Images& Pictures::test() {
  return test_->get([this] { return load({"test_batch.bin"}, 2000, seed_ + 1); });
}

}  // namespace cifar
