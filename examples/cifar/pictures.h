// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pictures: the files of CIFAR-10, or patterns that the program draws.
#include <cstdint>
#include <memory>
#include <vector>

#include "records.h"
#include "shoal/estimator/run.h"

namespace cifar {

/// Training and test pictures of some classes, loaded or generated at most once and shared by the tasks of a process.
/// Thread-safe.
class Pictures {
 public:
  /// Reads data_batch_1.bin to data_batch_5.bin and test_batch.bin, as line.data_file() finds them in the archive's folder
  /// "cifar-10-batches-bin". If line.data_dir is not set, generates patterns from `seed`.
  Pictures(const shoal::CommandLine& line, std::vector<int64_t> classes, uint64_t seed);
  ~Pictures();
  // training() and test() raise the errors of read_records() and of_classes().
  const Images& training();  ///< With all ten classes: 50,000 pictures from files, or 20,000 generated ones.
  const Images& test();      ///< With all ten classes: 10,000 pictures from files, or 2,000 generated ones.
  bool drawn() const { return !line_.data_dir; }

 private:
  struct Lazy;
  Images load(const std::vector<std::string>& names, int64_t count, uint64_t seed) const;
  shoal::CommandLine line_;
  std::vector<int64_t> classes_;
  uint64_t seed_;
  std::unique_ptr<Lazy> training_;
  std::unique_ptr<Lazy> test_;
};

}  // namespace cifar
