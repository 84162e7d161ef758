// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The images: the MNIST files, or digits that the program draws itself.
#include <memory>
#include <optional>
#include <string>

#include "shoal/data/dataset.h"

namespace mnist {

/// Images are uint8 [count, 28, 28, 1], labels int64 [count].
struct Images {
  shoal::Tensor pixels;
  shoal::Tensor labels;
};

/// Training and test images, loaded or generated at most once and shared by the tasks of a process. Thread-safe.
class ImageSource {
 public:
  /// `data_dir`: folder of the four IDX files (plain or gzip'd), or its parent. If not set, generates digits from `seed`.
  ImageSource(std::optional<std::string> data_dir, uint64_t seed);
  ~ImageSource();
  const Images& training();  ///< There are 60,000.
  const Images& test();      ///< There are 10,000.
  bool drawn() const { return !data_dir_; }

 private:
  struct Lazy;
  std::optional<std::string> data_dir_;
  uint64_t seed_;
  std::unique_ptr<Lazy> training_;
  std::unique_ptr<Lazy> test_;
};

}  // namespace mnist
