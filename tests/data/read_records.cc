// SPDX-License-Identifier: Apache-2.0
// Reads all records of files through a pipeline with a shuffle, a batch and a prefetch, and prints how many there were, their bytes, what its
// buffers may hold, and the most memory that the process had.
//   read_records tfrecord|BYTES FILE...   records of BYTES bytes each
//   read_records write FILE BYTES         writes a TFRecord file of that many bytes of records, of up to 200 KB each; prints the same first two numbers
#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>

#include "shoal/data/dataset.h"

namespace {

int write_records(const std::string& path, int64_t bytes_wanted) {
  auto writer = shoal::value_or_raise(shoal::data::TfRecordWriter::create(path));
  const std::string text(200'000, 'r');
  int64_t count = 0, bytes = 0;
  for (; bytes < bytes_wanted; ++count) {
    const auto record = std::string_view(text).substr(0, size_t(1000 + count * 7919 % 199'000));
    shoal::value_or_raise(writer.append(record));
    bytes += int64_t(record.size());
  }
  shoal::value_or_raise(writer.finish());
  std::printf("%lld %lld\n", static_cast<long long>(count), static_cast<long long>(bytes));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  using shoal::data::Dataset;
  if (argc < 3) return 2;
  if (std::string_view(argv[1]) == "write") return argc == 4 ? write_records(argv[2], std::atoll(argv[3])) : 2;
  const std::vector<std::string> paths(argv + 2, argv + argc);
  const bool framed = std::string_view(argv[1]) == "tfrecord";
  constexpr int64_t kShuffled = 1000, kBatch = 64, kPrefetched = 4;
  const Dataset records =
      framed ? Dataset::tf_records(paths) : Dataset::fixed_length_records(paths, {.record_bytes = std::atoll(argv[1])});
  int64_t count = 0, bytes = 0, longest = 0;
  for (const auto& element : records.shuffle(kShuffled, {.seed = 1}).batch(kBatch).prefetch(kPrefetched).elements()) {
    const shoal::Tensor& batch = element.features.single();
    count += batch.shape()[0];
    if (framed) {
      for (const std::string& record : batch.strings()) {
        bytes += int64_t(record.size());
        longest = std::max(longest, int64_t(record.size()));
      }
    } else {
      bytes += int64_t(batch.bytes());
      longest = batch.shape()[1];
    }
  }
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  // The shuffle's elements; the batches that wait, the one that is made and the one that is looked at.
  const int64_t buffers = (kShuffled + kBatch * (kPrefetched + 2)) * longest;
  std::printf("%lld %lld %lld %lld\n", static_cast<long long>(count), static_cast<long long>(bytes),
              static_cast<long long>(buffers), static_cast<long long>(usage.ru_maxrss) << 10);
}
