// SPDX-License-Identifier: Apache-2.0
#include "folders.h"

#include <cstdio>

#include "shoal/base/storage.h"
#include "shoal/data/augment.h"
#include "shoal/data/images.h"

namespace cifar {

void write_folder(const Images& images, const std::string& folder) {
  const auto storage = shoal::make_file_storage();
  const auto labels = images.labels.as<int64_t>();
  constexpr size_t kBytes = size_t(kSide * kSide * kColours);
  for (int64_t label = 0; label < kClasses; ++label) {
    shoal::value_or_raise(storage->make_folders(shoal::join_path(folder, std::to_string(label))));
  }
  for (size_t i = 0; i < labels.size(); ++i) {
    const auto picture =
        shoal::Tensor::of<uint8_t>({kSide, kSide, kColours}, images.pixels.as<uint8_t>().subspan(i * kBytes, kBytes));
    const std::string png = shoal::value_or_raise(shoal::data::encode_png(picture));
    char name[32];
    std::snprintf(name, sizeof name, "%lld/%05zu.png", static_cast<long long>(labels[i]), i);
    const auto file = shoal::value_or_raise(storage->create(shoal::join_path(folder, name)));
    shoal::value_or_raise(file->append(std::as_bytes(std::span(png))));
    shoal::value_or_raise(file->close());
  }
}

shoal::data::Dataset read_pictures(const shoal::data::Dataset& paths) {
  return paths.map(shoal::data::read_images({.channels = kColours}), {.parallel = 2}).map([](shoal::data::Element one) {
    shoal::Tensor& picture = one.features.single();
    if (picture.shape()[0] != kSide || picture.shape()[1] != kSide) {
      picture = shoal::data::resize(picture, {.height = kSide, .width = kSide});
    }
    return one;
  });
}

}  // namespace cifar
