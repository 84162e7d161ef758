// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The binary files of CIFAR-10: records of one label byte (0 to 9) and 3,072 bytes of pixels, first all of red, then of
/// green, then of blue, each 32 rows of 32. Nothing before, between or after the records.
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

/// All records of the files, in order: each file is read once, piece by piece, straight into the tensors. Errors name the
/// file: NotFound; DataLoss if it is empty or its size is no multiple of a record's, and, naming the record, for a label
/// above 9.
shoal::Result<Images> read_records(shoal::Storage& storage, const std::vector<std::string>& paths);

/// Those of `classes`, whose labels become 0, 1, ... in the order given. Raises InvalidArgument unless `classes` has at
/// least three different numbers from 0 to 9, and NotFound if a class has no picture.
Images of_classes(const Images& images, const std::vector<int64_t>& classes);

}  // namespace cifar
