// SPDX-License-Identifier: Apache-2.0
// Calls a fuzz target as libFuzzer would, where that is not at hand: with every file of a folder, and with mutations of
// each. Each run makes the same ones.
//   PROGRAM FOLDER MUTATIONS   mutations in all, divided among the files
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

#include "shoal/base/random.h"
#include "target.h"

namespace {

using Bytes = std::vector<uint8_t>;

constexpr size_t kBytesMax = 4096;  // The default of libFuzzer.

void change_byte(Bytes& bytes, shoal::RandomStream& random) {
  constexpr uint8_t kBorders[] = {0, 1, 0x7f, 0x80, 0xff, '"', '[', '{', '-', '9'};
  uint8_t& byte = bytes[random.below(bytes.size())];
  switch (random.below(3)) {
    case 0: byte = uint8_t(byte ^ (1U << random.below(8))); break;
    case 1: byte = uint8_t(random.next_u32()); break;
    default: byte = kBorders[random.below(std::size(kBorders))];
  }
}

void mutate(Bytes& bytes, const std::vector<Bytes>& all, shoal::RandomStream& random) {
  const size_t at = random.below(bytes.size() + 1);
  const auto here = bytes.begin() + ptrdiff_t(at);
  switch (random.below(8)) {
    case 0: bytes.erase(here, bytes.end()); break;
    case 1: bytes.erase(here, here + ptrdiff_t(random.below(bytes.size() - at + 1))); break;
    case 2: bytes.insert(here, random.below(20), uint8_t(random.next_u32())); break;
    case 3: {
      const Bytes& other = all[random.below(all.size())];
      bytes.erase(here, bytes.end());
      bytes.insert(bytes.end(), other.begin() + ptrdiff_t(std::min(at, other.size())), other.end());
      break;
    }
    default:
      if (!bytes.empty()) change_byte(bytes, random);
  }
  bytes.resize(std::min(bytes.size(), kBytesMax));
}

/// A copy of exactly its size, so that AddressSanitizer sees what reads behind it.
void run(const Bytes& bytes) {
  const std::unique_ptr<uint8_t[]> copy(new uint8_t[bytes.size()]);
  std::copy(bytes.begin(), bytes.end(), copy.get());
  LLVMFuzzerTestOneInput(copy.get(), bytes.size());
}

Bytes contents(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) return std::fprintf(stderr, "usage: %s FOLDER MUTATIONS\n", argv[0]), 2;
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(argv[1])) paths.push_back(entry.path());
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) return std::fprintf(stderr, "no files in %s\n", argv[1]), 1;
  std::vector<Bytes> all;
  for (const auto& path : paths) all.push_back(contents(path));
  const int mutations = std::atoi(argv[2]) / int(all.size());
  for (size_t i = 0; i < all.size(); ++i) {
    std::printf("%s\n", paths[i].c_str());
    std::fflush(stdout);  // The last line names the file that ended the program.
    run(all[i]);
    shoal::RandomStream random(i);
    for (int j = 0; j < mutations; ++j) {
      Bytes bytes = all[i];
      for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) mutate(bytes, all, random);
      run(bytes);
    }
  }
  return 0;
}
