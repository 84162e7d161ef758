// SPDX-License-Identifier: Apache-2.0
// Input pipelines on disks that are slow, fail, fill up and lose power.
#include <cstring>

#include "fixture.h"
#include "shoal/base/random.h"
#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"
#include "shoal/testing/simulated_disk.h"

namespace shoal::testing {
namespace {

using data::Dataset;
using data::Element;

/// The lone feature of all elements, as numbers.
using Numbers = std::vector<int64_t>;

Numbers numbers_of(const Element& element) {
  const Tensor& tensor = element.features.single();
  if (tensor.dtype() == DType::kString) {
    Numbers sizes;
    for (const std::string& text : tensor.strings()) sizes.push_back(std::stoll(text));
    return sizes;
  }
  return {tensor.as<int64_t>().begin(), tensor.as<int64_t>().end()};
}

/// A world of one task on a disk, in which lines of the log are kept.
struct Host {
  explicit Host(const std::shared_ptr<Storage>& disk)
      : env(world.add_task(
            {.sink = [this](const LogRecord& line) { lines.emplace_back(line.message); }, .storage = disk})) {}
  VirtualWorld world{7};
  std::vector<std::string> lines;
  Environment& env;
};

struct Reading {
  Numbers numbers;
  std::optional<Error> error;
};

Reading read(const Dataset& dataset, const std::shared_ptr<Storage>& disk) {
  Host host(disk);
  Reading reading;
  const auto iterator = dataset.iterate(host.env);
  if (!iterator) return {.error = iterator.error()};
  for (Element element;;) {
    const Result<bool> more = (*iterator)->next(element);
    if (!more) reading.error = more.error();
    if (!more || !*more) return reading;
    for (const int64_t number : numbers_of(element)) reading.numbers.push_back(number);
  }
}

constexpr int64_t kElements = 300;

/// 300 texts of some kilobytes in blocks that fill up before the pass ends, so that the disk sees the file grow.
Dataset long_texts() {
  return Dataset::range(kElements).map([](const Element& element) {
    std::string text = std::to_string(element.features.single().as<int64_t>()[0]);
    return Element{.features = Tensor::of_strings({}, {std::string(4000, '0') + text})};
  });
}

Dataset cached() { return long_texts().cache("c/file", {.compress = false}); }

Numbers expected() {
  Numbers numbers;
  for (int64_t i = 0; i < kElements; ++i) numbers.push_back(i);
  return numbers;
}

std::shared_ptr<SimulatedDisk> new_disk() {
  return std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.folders = {"c"}});
}

/// At every call that writing the file makes: the pass has all elements whatever happens, and so has each pass after it, which writes the
/// file if it is not complete.
class CacheCrash : public ::testing::TestWithParam<Fault> {};

TEST_P(CacheCrash, NoPassEverHasOtherElements) {
  const auto healthy = new_disk();
  EXPECT_EQ(read(cached(), healthy).numbers, expected());
  const int64_t calls = healthy->calls();
  ASSERT_GE(calls, 10);
  for (int64_t call = 0; call < calls; ++call) {
    for (const bool power_fails : {false, true}) {
      const auto disk = new_disk();
      disk->arm(GetParam(), call);
      const Reading first = read(cached(), disk);
      EXPECT_EQ(first.numbers, expected()) << call;
      EXPECT_FALSE(first.error) << call << ": " << first.error->message();
      disk->disarm();
      if (power_fails) disk->lose_power(uint64_t(call));
      for (int pass = 0; pass < 2; ++pass) {
        const Reading after = read(cached(), disk);
        EXPECT_EQ(after.numbers, expected()) << call;
        EXPECT_FALSE(after.error) << call << ": " << after.error->message();
      }
      EXPECT_EQ(names_in(*disk, "c"), (std::vector<std::string>{"file", "file.lock"})) << call;
    }
  }
}

std::string name_of_fault(const ::testing::TestParamInfo<Fault>& fault) {
  switch (fault.param) {
    case Fault::kError: return "Error";
    case Fault::kErrorAfterEffect: return "ErrorAfterEffect";
    case Fault::kCrash: return "Crash";
    default: return "DiskFull";
  }
}

INSTANTIATE_TEST_SUITE_P(, CacheCrash,
                         ::testing::Values(Fault::kError, Fault::kErrorAfterEffect, Fault::kCrash, Fault::kDiskFull),
                         name_of_fault);

/// Some files of each kind, which together hold the numbers 0 to 239.
void write_files(Storage& disk) {
  int64_t number = 0;
  for (int file = 0; file < 4; ++file) {
    std::string lines;
    for (int i = 0; i < 30; ++i) lines += std::to_string(number++) + "\n";
    value_or_raise(write_synced(disk, "d/" + std::to_string(file) + ".txt", lines));
    auto records = value_or_raise(data::TfRecordWriter::create(disk, "d/" + std::to_string(file) + ".records"));
    for (int i = 0; i < 30; ++i) value_or_raise(records.append(std::to_string(number++)));
    value_or_raise(records.finish());
  }
}

Dataset lines_of(const Element& name) { return Dataset::text_lines({name.features.single().strings()[0]}); }
Dataset records_of(const Element& name) { return Dataset::tf_records({name.features.single().strings()[0]}); }

/// A pipeline of files, drawn from `seed`.
Dataset pipeline(uint64_t seed) {
  RandomStream random(RandomKey(seed), 0);
  const bool lines = random.below(2) == 0;
  // Where a file of cache() cannot be written, a second pass has the input's second order.
  const bool cached = random.below(3) == 0;
  const Dataset names = Dataset::list_files(lines ? "d/*.txt" : "d/*.records", {.shuffle = !cached, .seed = int64_t(seed)});
  const auto files = [lines](const Element& name) { return lines ? lines_of(name) : records_of(name); };
  Dataset dataset = random.below(3) == 0 ? names.flat_map(files)
                                         : names.interleave(files, {.cycle = 1 + int64_t(random.below(4)),
                                                                    .block = 1 + int64_t(random.below(5)),
                                                                    .parallel = random.below(2) == 0});
  if (random.below(2) == 0)
    dataset = dataset.shuffle(1 + int64_t(random.below(60)), {.seed = 5, .reshuffle_each_iteration = !cached});
  if (random.below(2) == 0) dataset = dataset.map([](Element element) { return element; }, {.parallel = 3});
  if (cached) dataset = dataset.cache("d/cached");
  dataset = dataset.repeat(2);
  if (random.below(2) == 0) dataset = dataset.batch(1 + int64_t(random.below(7)));
  if (random.below(2) == 0) dataset = dataset.prefetch(1 + int64_t(random.below(4)));
  return dataset;
}

/// Reads on, and begins anew at the last position whenever the disk has failed, as a worker does that starts again.
Numbers read_in_spite(const Dataset& dataset, const std::shared_ptr<Storage>& disk, int& failures) {
  Numbers numbers;
  std::optional<data::Position> position;
  while (true) {
    Host host(disk);
    auto iterator = dataset.iterate(host.env);
    if (iterator && position) {
      const Result<void> restored = (*iterator)->restore(*position);
      if (!restored) iterator = restored.error();
    }
    for (Element element; iterator;) {
      const Result<bool> more = (*iterator)->next(element);
      if (!more) iterator = more.error();
      if (more && !*more) return numbers;
      if (!more) break;
      for (const int64_t number : numbers_of(element)) numbers.push_back(number);
      position = value_or_raise((*iterator)->save());
    }
    EXPECT_EQ(iterator.error().kind(), ErrorKind::kUnavailable) << iterator.error().message();
    EXPECT_NE(iterator.error().message().find("d/"), std::string::npos) << iterator.error().message();
    if (iterator.error().kind() != ErrorKind::kUnavailable || ++failures > 10'000) return numbers;
  }
}

TEST(PipelineDisk, AFailingDiskNeverChangesWhatIsRead) {
  int failures = 0;
  for (uint64_t seed = 1; seed <= 400; ++seed) {
    const auto disk = std::make_shared<SimulatedDisk>(SimulatedDiskOptions{.folders = {"d"}});
    write_files(*disk);
    const Dataset dataset = pipeline(seed);
    const Reading whole = read(dataset, disk);
    ASSERT_FALSE(whole.error) << whole.error->message();
    ASSERT_EQ(whole.numbers.size(), 240u);
    if (disk->exists("d/cached")) value_or_raise(disk->remove("d/cached"));
    disk->set_faults({.seed = seed, .error = 0.02, .slow = 0.1});
    EXPECT_EQ(read_in_spite(dataset, disk, failures), whole.numbers) << "seed " << seed;
  }
  EXPECT_GT(failures, 200);
}

}  // namespace
}  // namespace shoal::testing
