// SPDX-License-Identifier: Apache-2.0
#include "works.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <mutex>
#include <numeric>

#include "files.h"
#include "shoal/data/augment.h"
#include "shoal/data/images.h"
#include "shoal/data/tar_files.h"
#include "shoal/data/tf_example.h"

namespace shoal::bench {
namespace {

using data::Dataset;
using data::Element;

/// Made once for a process, since peers.py keeps its tensors from pass to pass, too.
struct Arrays {
  Tensor images, labels, float_images, rows, row_labels;
};

Tensor tensor_of(const std::string& path, DType dtype, const Shape& row) {
  const std::string bytes = bytes_of(path);
  std::vector<int64_t> dims{int64_t(bytes.size() / (size_t(row.elements()) * size_of(dtype)))};
  dims.insert(dims.end(), row.dims().begin(), row.dims().end());
  Tensor tensor(dtype, Shape(std::span<const int64_t>(dims)));
  std::memcpy(tensor.mutable_view().data, bytes.data(), tensor.bytes());
  return tensor;
}

/// The numbers 0, 1, ..., 9, 0, ...
Tensor labels_of(int64_t count) {
  Tensor labels(DType::kInt64, Shape{count});
  for (int64_t i = 0; i < count; ++i) labels.mutable_as<int64_t>()[size_t(i)] = i % 10;
  return labels;
}

const Arrays& arrays(const std::string& folder) {
  static std::once_flag once;
  static Arrays made;
  std::call_once(once, [&] {
    made.images = tensor_of(folder + "/images.bin", DType::kUInt8, Shape{kSide, kSide});
    made.labels = labels_of(made.images.shape()[0]);
    made.float_images = Tensor(DType::kFloat32, made.images.shape());
    std::ranges::copy(made.images.as<uint8_t>(), made.float_images.mutable_as<float>().begin());
    made.rows = tensor_of(folder + "/rows.bin", DType::kFloat32, Shape{kRowValues});
    made.row_labels = labels_of(made.rows.shape()[0]);
  });
  return made;
}

Dataset from_memory(const Tensor& features, const Tensor& labels, const InputOptions& options) {
  const Dataset batches =
      Dataset::from_tensor_slices(features, labels).shuffle(features.shape()[0], {.seed = 1}).batch(options.batch);
  return options.threads > 1 ? batches.prefetch(4) : batches;
}

using ReadFiles = std::function<Dataset(std::vector<std::string>)>;

/// Batches of what `read` makes of the paths: one file after another, or on two threads two files at a time, each with batches of
/// its own, as worker processes of DataLoader make them.
Dataset from_files(std::vector<std::string> paths, int threads, int64_t batch, const ReadFiles& read) {
  if (threads == 1) return read(std::move(paths)).batch(batch);
  const auto count = int64_t(paths.size());
  const auto read_one = [read, batch](const Element& path) -> Result<Dataset> {
    return read({path.features.single().strings()[0]}).batch(batch);
  };
  return Dataset::from_tensor_slices(Tensor::of_strings(Shape{count}, std::move(paths)))
      .interleave(read_one, {.cycle = threads, .block = 2, .parallel = true});
}

Dataset records(const std::string& name, const InputOptions& options) {
  return from_files(parts_of(options.folder, name, ".tfrecord"), options.threads, options.batch,
                    [](std::vector<std::string> paths) { return Dataset::tf_records(std::move(paths)); });
}

Dataset examples(const InputOptions& options) {
  const data::TfExampleOptions format{.features = {{.name = "image", .dtype = DType::kUInt8, .shape = {kSide, kSide}},
                                                   {.name = "row", .dtype = DType::kFloat32, .shape = {kRowValues}},
                                                   {.name = "label", .dtype = DType::kInt64}},
                                      .labels = {"label"}};
  const data::MapFn parse = data::tf_examples(format);
  return from_files(parts_of(options.folder, "example", ".tfrecord"), options.threads, options.batch,
                    [parse](std::vector<std::string> paths) { return Dataset::tf_records(std::move(paths)).map(parse); });
}

Dataset samples(const InputOptions& options) {
  return from_files(parts_of(options.folder, "samples", ".tar"), options.threads, options.batch,
                    [](std::vector<std::string> paths) { return Dataset::tar_samples(std::move(paths)); });
}

Dataset pictures(const InputOptions& options, bool small) {
  std::vector<std::string> paths = jpeg_files(options.folder);
  const auto count = int64_t(paths.size());
  const data::ImageSize size{.height = 32, .width = 32};
  const Dataset files = Dataset::from_tensor_slices(Tensor::of_strings(Shape{count}, std::move(paths)));
  const data::MapFn read = data::read_images({.channels = 3, .at_least = small ? size : data::ImageSize{}});
  const data::MapFn read_and_resize = [read, size](Element path) -> Result<Element> {
    SHOAL_TRY(Element image, read(std::move(path)));
    image.features.single() = data::resize(image.features.single(), size);
    return image;
  };
  return files.map(small ? read_and_resize : read, {.parallel = options.threads}).batch(options.batch);
}

Dataset table_of_numbers(std::vector<std::string> paths) {
  data::CsvOptions table{.header_lines = 1};
  for (int64_t i = 0; i < kNumberColumns; ++i) {
    table.columns.push_back({.name = "x" + std::to_string(i), .dtype = DType::kFloat32});
  }
  return Dataset::csv(std::move(paths), std::move(table));
}

Dataset mixed_table(std::vector<std::string> paths) {
  constexpr DType kText = DType::kString, kReal = DType::kFloat32, kWhole = DType::kInt64;
  return Dataset::csv(std::move(paths), {.columns = {{"id", kWhole},
                                                     {"town", kText},
                                                     {"age", kWhole},
                                                     {"income", kReal},
                                                     {"colour", kText},
                                                     {"score", kReal},
                                                     {"visits", kWhole},
                                                     {"name", kText},
                                                     {"weight", kReal},
                                                     {"note", kText}},
                                         .header_lines = 1});
}

constexpr int64_t kTableBatch = 1024;  // Tables have small rows, and pandas reads them all at once.

template <class T>
double sum_of(const Tensor& tensor) {
  const auto values = tensor.as<T>();
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double sum_of(const Tensor& tensor) {
  switch (tensor.dtype()) {
    case DType::kUInt8: {
      const auto values = tensor.as<uint8_t>();
      return double(std::accumulate(values.begin(), values.end(), int64_t(0)));
    }
    case DType::kFloat32: return sum_of<float>(tensor);
    case DType::kInt64: return sum_of<int64_t>(tensor);
    default: break;
  }
  double sum = 0;
  for (const std::string& text : tensor.strings()) {
    int64_t bytes = 0;
    for (const char c : text) bytes += uint8_t(c);
    sum += double(bytes);
  }
  return sum;
}

int64_t bytes_of_files(const std::vector<std::string>& paths) {
  int64_t bytes = 0;
  for (const std::string& path : paths) bytes += int64_t(std::filesystem::file_size(path));
  return bytes;
}

/// The bytes that a pass of `work` reads.
int64_t bytes_of_work(const std::string& work, const InputOptions& options) {
  const std::string& folder = options.folder;
  if (work == "images") return int64_t(arrays(folder).images.bytes());
  if (work == "float_images") return int64_t(arrays(folder).float_images.bytes());
  if (work == "rows") return int64_t(arrays(folder).rows.bytes());
  if (work == "small_records") return bytes_of_files(parts_of(folder, "small", ".tfrecord"));
  if (work == "large_records") return bytes_of_files(parts_of(folder, "large", ".tfrecord"));
  if (work == "examples") return bytes_of_files(parts_of(folder, "example", ".tfrecord"));
  if (work == "tar") return bytes_of_files(parts_of(folder, "samples", ".tar"));
  if (work == "numbers" || work == "mixed") return bytes_of_files(parts_of(folder, work, ".csv"));
  return bytes_of_files(jpeg_files(folder));
}

}  // namespace

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) raise(invalid_argument(path + " cannot be read"));
  return bytes;
}

std::vector<std::string> jpeg_files(const std::string& folder) {
  std::vector<std::string> paths;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/jpeg")) paths.push_back(entry.path());
  std::ranges::sort(paths);
  return paths;
}

const Works& works() {
  using Options = InputOptions;
  static const Works all = {
      {"images", [](const Options& o) { return from_memory(arrays(o.folder).images, arrays(o.folder).labels, o); }},
      {"float_images",
       [](const Options& o) { return from_memory(arrays(o.folder).float_images, arrays(o.folder).labels, o); }},
      {"rows", [](const Options& o) { return from_memory(arrays(o.folder).rows, arrays(o.folder).row_labels, o); }},
      {"small_records", [](const Options& o) { return records("small", o); }},
      {"large_records", [](const Options& o) { return records("large", o); }},
      {"examples", examples},
      {"tar", samples},
      {"jpeg", [](const Options& o) { return pictures(o, false); }},
      {"jpeg_small", [](const Options& o) { return pictures(o, true); }},
      {"numbers",
       [](const Options& o) {
         return from_files(parts_of(o.folder, "numbers", ".csv"), o.threads, kTableBatch, table_of_numbers);
       }},
      {"mixed",
       [](const Options& o) {
         return from_files(parts_of(o.folder, "mixed", ".csv"), o.threads, kTableBatch, mixed_table);
       }},
  };
  return all;
}

Passed pass(const std::string& work, const InputOptions& options, bool sums) {
  Passed passed{.bytes = bytes_of_work(work, options)};
  for (const Element& batch : works().at(work)(options).elements({.seed = 1})) {
    passed.elements += batch.features.begin()->second.shape()[0];
    if (!sums) continue;
    for (const auto& [name, tensor] : batch.features) passed.sum += sum_of(tensor);
    for (const auto& [name, tensor] : batch.labels) passed.sum += sum_of(tensor);
  }
  return passed;
}

}  // namespace shoal::bench
