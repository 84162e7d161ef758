// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The binary files of CIFAR-10: records of one label byte (0 to 9) and 3,072 bytes of pixels: all red values, then all
/// green, then all blue ones, each as 32 rows of 32. A file contains nothing but records.
/// Source: Krizhevsky, "Learning multiple layers of features from tiny images" (2009);
/// https://www.cs.toronto.edu/~kriz/cifar.html
#include <cstdint>
#include <string>
#include <vector>

#include "shoal/base/storage.h"
#include "shoal/base/tensor.h"

namespace cifar {

constexpr int64_t kSide = 32;
constexpr int64_t kColours = 3;
constexpr int64_t kClasses = 10;

/// Pictures are uint8 [count, 32, 32, 3], labels int64 [count].
struct Images {
  shoal::Tensor pixels;
  shoal::Tensor labels;
};

/// Reads all records of the files, in order and 0.8 MB at a time, straight into the tensors. Errors name the file:
/// NotFound; DataLoss if the file is empty or its size is no multiple of a record's size; DataLoss, naming also the record,
/// for a label above 9.
shoal::Result<Images> read_records(shoal::Storage& storage, const std::vector<std::string>& paths);

/// Returns the images whose labels are in `classes`, relabelled 0, 1, ... in the order of `classes`. Raises
/// InvalidArgument unless `classes` has at least three different numbers from 0 to 9, NotFound if a class has no picture.
Images of_classes(const Images& images, const std::vector<int64_t>& classes);

}  // namespace cifar
