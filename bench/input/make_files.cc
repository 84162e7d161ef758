// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <charconv>
#include <fstream>
#include <functional>

#include "files.h"
#include "shoal/base/random.h"
#include "shoal/data/record_files.h"
#include "shoal/data/tar_files.h"
#include "shoal/data/tf_example.h"

namespace shoal::bench {
namespace {

constexpr int64_t kMillion = 1'000'000;

std::string random_bytes(RandomStream& random, size_t count) {
  std::string bytes(count, '\0');
  for (size_t i = 0; i < count; i += 4) {
    const auto word = uint32_t(random.below(uint64_t(1) << 32));
    for (size_t k = 0; k < std::min<size_t>(4, count - i); ++k) bytes[i + k] = char(word >> (8 * k));
  }
  return bytes;
}

void write_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file.write(bytes.data(), std::streamsize(bytes.size()));
  file.close();
  if (!file) raise(invalid_argument(path + " cannot be written"));
}

/// Records that `record` makes, in parts.
void make_records(const std::vector<std::string>& paths, int64_t bytes, const std::function<std::string()>& record) {
  for (const std::string& path : paths) {
    data::TfRecordWriter writer = value_or_raise(data::TfRecordWriter::create(path));
    for (int64_t written = 0; written < bytes / kParts;) {
      const std::string one = record();
      value_or_raise(writer.append(one));
      written += int64_t(one.size());
    }
    value_or_raise(writer.finish());
  }
}

std::string example_record(RandomStream& random) {
  Tensor image(DType::kUInt8, Shape{kSide, kSide});
  const std::string pixels = random_bytes(random, size_t(kSide * kSide));
  std::ranges::copy(pixels, reinterpret_cast<char*>(image.mutable_as<uint8_t>().data()));
  Tensor row(DType::kFloat32, Shape{kRowValues});
  for (float& value : row.mutable_as<float>()) value = float(random.below(1000)) / 8;
  return data::make_tf_example(
      {{"image", image}, {"row", row}, {"label", Tensor::scalar<int64_t>(int64_t(random.below(10)))}});
}

/// Samples of a "picture" of about 10 KB and a class.
void make_archives(const std::vector<std::string>& paths, int64_t bytes, RandomStream& random) {
  int64_t number = 0;
  for (const std::string& path : paths) {
    data::TarWriter writer = value_or_raise(data::TarWriter::create(path));
    for (int64_t written = 0; written < bytes / kParts; ++number) {
      const std::string picture = random_bytes(random, size_t(8000 + random.below(4000)));
      const std::string key = "train/" + std::to_string(kMillion + number);
      value_or_raise(writer.append(key + ".jpg", picture));
      value_or_raise(writer.append(key + ".cls", std::to_string(number % 1000)));
      written += int64_t(picture.size());
    }
    value_or_raise(writer.finish());
  }
}

void append_number(std::string& text, double number) {
  std::array<char, 32> digits{};
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), number);
  text.append(digits.data(), end);
}

/// Tables with a header line, in parts; `row` appends one row without its line end.
void make_tables(const std::vector<std::string>& paths, int64_t bytes, const std::string& header,
                 const std::function<void(std::string&)>& row) {
  for (const std::string& path : paths) {
    std::string text = header + "\n";
    while (int64_t(text.size()) < bytes / kParts) {
      row(text);
      text += '\n';
    }
    write_file(path, text);
  }
}

void make_numbers(const std::string& folder, int64_t bytes, RandomStream& random) {
  std::string header;
  for (int64_t i = 0; i < kNumberColumns; ++i) header += (i > 0 ? ",x" : "x") + std::to_string(i);
  make_tables(parts_of(folder, "numbers", ".csv"), bytes, header, [&](std::string& text) {
    for (int64_t i = 0; i < kNumberColumns; ++i) {
      if (i > 0) text += ',';
      append_number(text, (double(random.below(2 * kMillion)) - kMillion) / 1e4);
    }
  });
}

/// Ten columns: four texts, one of them with quotes and separators at times, three of whole numbers, three with fractions.
void make_mixed(const std::string& folder, int64_t bytes, RandomStream& random) {
  constexpr std::array kTowns = {"Oslo", "Lisbon", "\"Washington, D.C.\"", "Rio de Janeiro", "\"the \"\"old\"\" town\""};
  constexpr std::array kColours = {"red", "green", "blue", "", "yellow"};
  const std::string header = "id,town,age,income,colour,score,visits,name,weight,note";
  int64_t id = kMillion;
  make_tables(parts_of(folder, "mixed", ".csv"), bytes, header, [&](std::string& text) {
    text +=
        std::to_string(id++) + "," + kTowns[random.below(kTowns.size())] + "," + std::to_string(random.below(100)) + ",";
    append_number(text, double(random.below(10 * kMillion)) / 100);
    text += std::string(",") + kColours[random.below(kColours.size())] + ",";
    append_number(text, double(random.below(kMillion)) / kMillion);
    text += "," + std::to_string(random.below(5000)) + ",person " + std::to_string(random.below(kMillion)) + ",";
    append_number(text, double(random.below(2000)) / 16);
    text += random.below(2) == 0 ? ",nothing to remark" : ",seen again after two weeks";
  });
}

/// What the pipelines from memory are made of, as plain bytes.
void make_arrays(const std::string& folder, int64_t bytes, RandomStream& random) {
  const int64_t images = std::min<int64_t>(60'000, bytes / (kSide * kSide));
  write_file(folder + "/images.bin", random_bytes(random, size_t(images * kSide * kSide)));
  const int64_t rows = bytes / 4 / kRowValues;
  std::vector<float> values(size_t(rows * kRowValues));
  for (float& value : values) value = float(random.below(1000)) / 8;
  write_file(folder + "/rows.bin",
             std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)));
}

}  // namespace

void make_files(const std::string& folder, int64_t megabytes) {
  const int64_t bytes = megabytes * kMillion;
  RandomStream random(RandomKey{1});
  make_arrays(folder, bytes, random);
  make_records(parts_of(folder, "small", ".tfrecord"), bytes,
               [&] { return random_bytes(random, 900 + random.below(200)); });
  // More of them, since a pass begins with a batch of memory that was not touched before.
  make_records(parts_of(folder, "large", ".tfrecord"), 4 * bytes,
               [&] { return random_bytes(random, 90'000 + random.below(20'000)); });
  make_records(parts_of(folder, "example", ".tfrecord"), bytes, [&] { return example_record(random); });
  make_archives(parts_of(folder, "samples", ".tar"), bytes, random);
  make_numbers(folder, bytes, random);
  make_mixed(folder, bytes, random);
}

}  // namespace shoal::bench
