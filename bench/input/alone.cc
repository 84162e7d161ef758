// SPDX-License-Identifier: Apache-2.0
// The bare loops: what the machine does with the same bytes where no pipeline stands in between.
#include <fcntl.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <map>
#include <vector>

#include "files.h"
#include "works.h"

namespace shoal::bench {
namespace {

constexpr size_t kCopyBytes = size_t(64) << 20;
constexpr size_t kReadBytes = size_t(1) << 20;

Result<Passed> read_files(const InputOptions& options, bool sums) {
  std::vector<char> buffer(kReadBytes);
  Passed passed;
  for (const std::string& path : parts_of(options.folder, "small", ".tfrecord")) {
    const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (file < 0) return invalid_argument(path + " cannot be opened");
    for (ssize_t count = 1; count > 0;) {
      count = ::read(file, buffer.data(), buffer.size());
      passed.bytes += count;
      if (!sums) continue;
      for (ssize_t i = 0; i < count; ++i) passed.sum += uint8_t(buffer[size_t(i)]);
    }
    ::close(file);
  }
  return passed;
}

Result<Passed> copy_memory() {
  constexpr int kCopies = 8;
  static const std::vector<char> from(kCopyBytes, 'x');
  static std::vector<char> to(kCopyBytes);
  for (int i = 0; i < kCopies; ++i) {
    std::memcpy(to.data(), from.data(), kCopyBytes);
    asm volatile("" : : "r"(to.data()) : "memory");  // So that the compiler leaves no copy out.
  }
  return Passed{.elements = kCopies, .bytes = int64_t(kCopies * kCopyBytes)};
}

/// Every field is taken to be a number that ends at a comma or a line end, which nothing checks.
Result<Passed> parse_numbers(const InputOptions& options) {
  static std::map<std::string, std::string> texts;  // In memory before the first pass that is timed.
  Passed passed;
  for (const std::string& path : parts_of(options.folder, "numbers", ".csv")) {
    std::string& text = texts[path];
    if (text.empty()) text = bytes_of(path);
    const char* at = text.data() + text.find('\n') + 1;
    const char* const end = text.data() + text.size();
    int64_t numbers = 0;
    for (float number = 0; at < end; ++at, ++numbers) {
      at = std::from_chars(at, end, number).ptr;
      passed.sum += number;
    }
    passed.elements += numbers / kNumberColumns;
    passed.bytes += int64_t(text.size());
  }
  return passed;
}

}  // namespace

Result<Passed> pass_alone(const std::string& work, const InputOptions& options, bool sums) {
  if (work == "read") return read_files(options, sums);
  if (work == "memcpy") return copy_memory();
  if (work == "from_chars") return parse_numbers(options);
  if (work == "jpeg_alone") return decode_alone(jpeg_files(options.folder), sums);
  return invalid_argument("there is no work " + work);
}

}  // namespace shoal::bench
