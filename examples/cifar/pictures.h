// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pictures: the files of CIFAR-10, or patterns that the program draws.
#include <cstdint>
#include <memory>
#include <vector>

#include "records.h"
#include "shoal/estimator/run.h"

namespace cifar {

/// Training and test pictures of some classes, loaded (or drawn) at most once and shared by the tasks of a process.
/// Thread-safe.
class Pictures {
 public:
  /// The files are data_batch_1.bin to data_batch_5.bin and test_batch.bin, where line.data_file() finds them in
  /// "cifar-10-batches-bin", as the archive has them. Without line.data_dir: patterns drawn from `seed`.
  Pictures(const shoal::CommandLine& line, std::vector<int64_t> classes, uint64_t seed);
  ~Pictures();
  // Both raise what read_records() and of_classes() say.
  const Images& training();  ///< Of ten classes there are 50,000, or 20,000 drawn ones.
  const Images& test();      ///< Of ten classes there are 10,000, or 2,000 drawn ones.
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
