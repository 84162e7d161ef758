// SPDX-License-Identifier: Apache-2.0
#include "images.h"

#include <mutex>

#include "digits.h"
#include "shoal/base/storage.h"
#include "shoal/data/idx.h"

namespace mnist {
namespace {

using shoal::Result;

/// Finds the file `name` in `folder` or in `folder`/mnist, plain or with the ending .gz.
Result<std::string> find_file(shoal::Storage& storage, const std::string& folder, const std::string& name) {
  for (const std::string& base : {folder, shoal::join_path(folder, "mnist")}) {
    for (const char* suffix : {"", ".gz"}) {
      const std::string path = shoal::join_path(base, name + suffix);
      if (storage.exists(path)) return path;
    }
  }
  return shoal::not_found("no " + name + " (or " + name + ".gz) in " + folder + " or " + folder +
                          "/mnist; --data-dir names the folder of the four MNIST files. Without it, and without "
                          "SHOAL_DATA, the program draws its own digits");
}

Result<Images> read_images(const std::string& folder, const std::string& part) {
  const auto storage = shoal::make_file_storage();
  SHOAL_TRY(const std::string images_path, find_file(*storage, folder, part + "-images-idx3-ubyte"));
  SHOAL_TRY(const std::string labels_path, find_file(*storage, folder, part + "-labels-idx1-ubyte"));
  SHOAL_TRY(const shoal::Tensor pixels, shoal::data::read_idx(*storage, images_path));
  SHOAL_TRY(const shoal::Tensor bytes, shoal::data::read_idx(*storage, labels_path));
  if (pixels.dtype() != shoal::DType::kUInt8 || pixels.shape().rank() != 3 || pixels.shape()[1] != 28 ||
      pixels.shape()[2] != 28) {
    return shoal::data_loss(images_path + " holds " + to_string(pixels.shape()) + ", not images of 28 x 28 bytes");
  }
  if (bytes.dtype() != shoal::DType::kUInt8 || bytes.shape() != shoal::Shape{pixels.shape()[0]}) {
    return shoal::data_loss(labels_path + " holds " + to_string(bytes.shape()) + " labels for " +
                            to_string(pixels.shape()) + " images");
  }
  shoal::Tensor labels(shoal::DType::kInt64, bytes.shape());
  const auto source = bytes.as<uint8_t>();
  std::copy(source.begin(), source.end(), labels.mutable_as<int64_t>().begin());
  return Images{pixels.reshaped({pixels.shape()[0], 28, 28, 1}), std::move(labels)};
}

}  // namespace

struct ImageSource::Lazy {
  std::mutex mutex;
  std::optional<Images> images;
  template <class Load>
  const Images& get(Load&& load) {
    const std::lock_guard lock(mutex);
    if (!images) images = load();
    return *images;
  }
};

ImageSource::ImageSource(std::optional<std::string> data_dir, uint64_t seed)
    : data_dir_(std::move(data_dir)), seed_(seed), training_(std::make_unique<Lazy>()), test_(std::make_unique<Lazy>()) {}
ImageSource::~ImageSource() = default;

const Images& ImageSource::training() {
  return training_->get(
      [this] { return data_dir_ ? shoal::value_or_raise(read_images(*data_dir_, "train")) : draw_digits(60000, seed_); });
}

const Images& ImageSource::test() {
  return test_->get([this] {
    return data_dir_ ? shoal::value_or_raise(read_images(*data_dir_, "t10k")) : draw_digits(10000, seed_ + 1);
  });
}

}  // namespace mnist
