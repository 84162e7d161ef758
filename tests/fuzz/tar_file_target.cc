// SPDX-License-Identifier: Apache-2.0
// Reads the samples of a tar archive. The first byte of the input selects one of three kinds: an archive as it stands; one
// whose blocks get the checksums of headers, which no mutation finds; or entries that are put together here, each of a
// type, two bytes of the length of its name, the name, two bytes of a length, and the contents. Two more bits select what
// is read of a sample, and two bytes are the limit of a file. An iterator that is restored to a position reads on as the
// first one did, and skipping a sample does not change the others.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "../data/tar_blocks.h"
#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr size_t kSamplesMax = 50;

std::string with_checksums(std::string archive) {
  for (size_t block = 0; block + 512 <= archive.size(); block += 512) {
    const auto begin = archive.begin() + std::ptrdiff_t(block);
    if (std::any_of(begin, begin + 512, [](char byte) { return byte != 0; })) set_checksum(archive, block);
  }
  return archive;
}

std::string put_together(fuzz::Input& input) {
  const auto text = [&input] {
    const auto bytes = input.take_bytes(input.take<uint16_t>());
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  };
  std::string archive;
  while (input.size() > 0) {
    const char type = input.take<char>();
    const std::string name = text();
    archive += tar_entry(name, text(), type);
  }
  return archive;
}

/// All of a sample in one text.
std::string text_of(const Element& element, int64_t limit) {
  std::string text;
  for (const auto& [name, tensor] : element.features) {
    const std::string& contents = tensor.strings()[0];
    SHOAL_CHECK(name == "__key__" || int64_t(contents.size()) <= limit);
    text += name + '\0' + std::to_string(contents.size()) + '\0' + contents;
  }
  return text;
}

struct Reading {
  std::vector<std::string> samples;
  std::vector<Position> positions;  // Before each sample, and behind the last one.
  std::string error;
};

Reading read_on(Iterator& iterator, int64_t limit) {
  Reading reading;
  for (Element element; reading.samples.size() < kSamplesMax;) {
    reading.positions.push_back(value_or_raise(iterator.save()));
    const Result<bool> more = iterator.next(element);
    if (!more) reading.error = more.error().message();
    fuzz::touch(reading.error);
    if (!more || !*more) break;
    reading.samples.push_back(text_of(element, limit));
    fuzz::touch(reading.samples.back());
  }
  return reading;
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const uint8_t how = input.take<uint8_t>();
  const auto limit = int64_t(input.take<uint16_t>()) + 1;
  const auto storage = std::make_shared<fuzz::MemoryStorage>();
  storage->files["a"] = how % 3 == 2   ? put_together(input)
                        : how % 3 == 1 ? with_checksums(std::string(input.text()))
                                       : std::string(input.text());
  TarOptions options{.member_bytes_max = limit, .sample_bytes_max = how / 6 % 2 == 0 ? limit * 2 : INT64_MAX};
  if (how / 3 % 2 == 1) options.extensions = {"x", "txt"};
  const Dataset dataset = Dataset::tar_samples({"a"}, options);

  VirtualWorld world(1);
  Environment& env = world.add_task({.storage = storage});
  const Reading all = read_on(*value_or_raise(dataset.iterate(env)), limit);
  for (size_t i = 0; i < all.positions.size(); ++i) {
    const auto resumed = value_or_raise(dataset.iterate(env));
    value_or_raise(resumed->restore(all.positions[i]));
    const Reading rest = read_on(*resumed, limit);
    const std::vector<std::string> expected(all.samples.begin() + std::ptrdiff_t(i), all.samples.end());
    if (all.samples.size() == kSamplesMax) {
      SHOAL_CHECK(rest.samples.size() >= expected.size() &&
                  std::equal(expected.begin(), expected.end(), rest.samples.begin()));
    } else {
      SHOAL_CHECK(rest.samples == expected && rest.error == all.error);
    }
  }
  const auto skipping = value_or_raise(dataset.iterate(env));
  const Result<int64_t> skipped = skipping->skip(1);
  if (all.samples.size() > 1) {
    SHOAL_CHECK(skipped && *skipped == 1 && read_on(*skipping, limit).samples.front() == all.samples[1]);
  }
  return 0;
}
