// SPDX-License-Identifier: Apache-2.0
#include "records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>

namespace cifar {
namespace {

using shoal::Result;

constexpr int64_t kPlane = kSide * kSide;
constexpr int64_t kPicture = kColours * kPlane;
constexpr int64_t kRecord = 1 + kPicture;
constexpr int64_t kPiece = 256;  // The number of records read at a time: 0.8 MB.
constexpr const char* kRemedy =
    "unpack the archive of the binary version again, or get it from https://www.cs.toronto.edu/~kriz/cifar.html";

struct File {
  std::string path;
  std::unique_ptr<shoal::ReadableFile> contents;
  int64_t records = 0;
};

Result<File> open_records(shoal::Storage& storage, const std::string& path) {
  SHOAL_TRY(auto contents, storage.open(path));
  const uint64_t bytes = contents->size();
  if (bytes == 0 || bytes % uint64_t(kRecord) != 0) {
    return shoal::data_loss(path + " has " + std::to_string(bytes) + " bytes, which are not whole records of " +
                            std::to_string(kRecord) + " (a label, 32 x 32 pixels of three colours): it is truncated, " +
                            "or no file of CIFAR-10; " + kRemedy);
  }
  return File{path, std::move(contents), int64_t(bytes / uint64_t(kRecord))};
}

/// Converts three planes, one for each colour, to three colours for each pixel.
void interleave(const uint8_t* planes, uint8_t* pixels) {
  for (int64_t i = 0; i < kPlane; ++i) {
    for (int64_t colour = 0; colour < kColours; ++colour) pixels[kColours * i + colour] = planes[colour * kPlane + i];
  }
}

Result<void> read_file(const File& file, uint8_t* pixels, int64_t* labels) {
  std::vector<uint8_t> piece(size_t(std::min(kPiece, file.records) * kRecord));
  for (int64_t first = 0; first < file.records; first += kPiece) {
    const int64_t count = std::min(kPiece, file.records - first);
    const auto bytes = std::as_writable_bytes(std::span(piece).first(size_t(count * kRecord)));
    SHOAL_TRY_VOID(file.contents->read_at(uint64_t(first * kRecord), bytes));
    for (int64_t i = 0; i < count; ++i) {
      const uint8_t* record = piece.data() + i * kRecord;
      if (record[0] >= kClasses) {
        return shoal::data_loss(file.path + ": record " + std::to_string(first + i) + " (from 0, at offset " +
                                std::to_string((first + i) * kRecord) + ") has label " + std::to_string(record[0]) +
                                ", which is not one of 0 to 9: the file is damaged, or of another data set; " + kRemedy);
      }
      labels[first + i] = record[0];
      interleave(record + 1, pixels + (first + i) * kPicture);
    }
  }
  return {};
}

Images empty_images(int64_t count) {
  return {shoal::Tensor(shoal::DType::kUInt8, {count, kSide, kSide, kColours}),
          shoal::Tensor(shoal::DType::kInt64, {count})};
}

}  // namespace

Result<Images> read_records(shoal::Storage& storage, const std::vector<std::string>& paths) {
  std::vector<File> files;
  int64_t count = 0;
  for (const std::string& path : paths) {
    SHOAL_TRY(File file, open_records(storage, path));
    count += file.records;
    files.push_back(std::move(file));
  }
  Images images = empty_images(count);
  uint8_t* pixels = images.pixels.mutable_as<uint8_t>().data();
  int64_t* labels = images.labels.mutable_as<int64_t>().data();
  for (const File& file : files) {
    SHOAL_TRY_VOID(read_file(file, pixels, labels));
    pixels += file.records * kPicture;
    labels += file.records;
  }
  return images;
}

Images of_classes(const Images& images, const std::vector<int64_t>& classes) {
  std::array<int64_t, size_t(kClasses)> new_label{}, counts{};
  new_label.fill(-1);
  for (size_t i = 0; i < classes.size(); ++i) {
    const int64_t label = classes[i];
    if (label < 0 || label >= kClasses || new_label[size_t(label)] >= 0) {
      shoal::raise(
          shoal::invalid_argument("class " + std::to_string(label) + ": classes are different numbers from 0 to 9"));
    }
    new_label[size_t(label)] = int64_t(i);
  }
  if (classes.size() < 3) {
    shoal::raise(shoal::invalid_argument("there are " + std::to_string(classes.size()) + " classes; name at least three"));
  }
  const auto old = images.labels.as<int64_t>();
  for (const int64_t label : old) ++counts[size_t(label)];
  int64_t kept = 0;
  for (const int64_t label : classes) {
    if (counts[size_t(label)] == 0) {
      shoal::raise(shoal::not_found("of class " + std::to_string(label) + " there is no picture among " +
                                    std::to_string(old.size())));
    }
    kept += counts[size_t(label)];
  }
  Images chosen = empty_images(kept);
  uint8_t* pixels = chosen.pixels.mutable_as<uint8_t>().data();
  int64_t* labels = chosen.labels.mutable_as<int64_t>().data();
  for (size_t i = 0; i < old.size(); ++i) {
    const int64_t label = new_label[size_t(old[i])];
    if (label < 0) continue;
    std::memcpy(pixels, images.pixels.as<uint8_t>().data() + int64_t(i) * kPicture, size_t(kPicture));
    pixels += kPicture;
    *labels++ = label;
  }
  return chosen;
}

}  // namespace cifar
