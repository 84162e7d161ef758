// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A fuzz target is a program of one function, which libFuzzer calls with one input after another; so does corpus_main.cc,
/// where there is no libFuzzer. It crashes if something is wrong, and returns 0.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace shoal::fuzz {

/// Takes an input apart, from its beginning; what is missing is zeros.
class Input {
 public:
  Input(const uint8_t* data, size_t size) : bytes_(reinterpret_cast<const std::byte*>(data), size) {}
  template <class T>
  T take() {
    T value{};
    const std::span<const std::byte> from = take_bytes(sizeof value);
    if (!from.empty()) std::memcpy(&value, from.data(), from.size());
    return value;
  }
  std::span<const std::byte> take_bytes(size_t count) {
    const std::span<const std::byte> taken = bytes_.first(count < bytes_.size() ? count : bytes_.size());
    bytes_ = bytes_.subspan(taken.size());
    return taken;
  }
  size_t size() const { return bytes_.size(); }
  std::string_view text() const { return {reinterpret_cast<const char*>(bytes_.data()), bytes_.size()}; }

 private:
  std::span<const std::byte> bytes_;
};

/// Reads every byte, which is for AddressSanitizer to judge.
template <class Range>
void touch(const Range& range) {
  [[maybe_unused]] static volatile uint8_t sink;
  uint8_t sum = 0;
  for (const auto& element : range) {
    unsigned char bytes[sizeof element];
    std::memcpy(bytes, &element, sizeof element);
    for (const unsigned char byte : bytes) sum = uint8_t(sum ^ byte);
  }
  sink = sum;
}

}  // namespace shoal::fuzz
