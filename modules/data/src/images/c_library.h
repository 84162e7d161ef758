// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Parts for both libjpeg and libpng: a way to leave their functions at an error, and memory into which they write.
#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace shoal::data {

/// Both libraries call a function at an error, and that function must not return. An exception may not pass through the
/// code of a C library, so the function calls leave(), which jumps back into finishes().
///
/// A jump runs no destructors. Therefore the code that it may leave, the `step` of finishes() and the library, makes no
/// object that has a destructor. The caller of finishes() allocates all memory before the call, and owns it.
struct ErrorExit {
  std::jmp_buf back;
  std::array<char, 256> sentence{};  ///< The library's sentence about the error.
  bool out_of_memory = false;

  [[noreturn]] void leave() { std::longjmp(back, 1); }  // NOLINT(cert-err52-cpp): see above.
  [[noreturn]] void leave(const char* why) {
    const size_t bytes = std::min(std::strlen(why), sentence.size() - 1);
    std::memcpy(sentence.data(), why, bytes);
    sentence[bytes] = '\0';
    leave();
  }
};

/// Calls `step`, which calls functions of the library. Returns false if one of those functions fails: exit.leave() then
/// jumps back into finishes().
template <class Step>
[[gnu::noinline]] bool finishes(ErrorExit& exit, const Step& step) {
  if (setjmp(exit.back) != 0) return false;  // NOLINT(cert-err52-cpp)
  step();
  return true;
}

/// Bytes that grow while a library writes them. Growing throws nothing, so a C library may call it.
class WrittenBytes {
 public:
  WrittenBytes() = default;
  WrittenBytes(const WrittenBytes&) = delete;
  WrittenBytes& operator=(const WrittenBytes&) = delete;
  ~WrittenBytes() { std::free(data_); }

  /// Appends `count` bytes. Returns false if there is no memory.
  bool append(const void* bytes, size_t count) {
    if (count > capacity_ - size_ && !grow(size_ + count)) return false;
    if (count > 0) std::memcpy(data_ + size_, bytes, count);
    size_ += count;
    return true;
  }
  std::string_view bytes() const { return {data_, size_}; }

 private:
  bool grow(size_t least) {
    const size_t capacity = std::max({least, 2 * capacity_, size_t(16) << 10});
    char* const data = static_cast<char*>(std::realloc(data_, capacity));
    if (!data) return false;
    data_ = data;
    capacity_ = capacity;
    return true;
  }
  char* data_ = nullptr;
  size_t size_ = 0, capacity_ = 0;
};

}  // namespace shoal::data
