// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <concepts>
#include <cstdio>
#include <string>
#include <string_view>

namespace shoal::cli {

/// Where commands write text: a file such as standard output, or a text in memory. The standard library's streams would link
/// all of its locales (docs/decisions/small-programs.md).
class TextOutput {
 public:
  /// Writes to `file`, which must outlive this object.
  explicit TextOutput(std::FILE* file) : file_(file) {}
  /// Appends to `text`, which must outlive this object.
  explicit TextOutput(std::string& text) : text_(&text) {}
  TextOutput(const TextOutput&) = delete;
  TextOutput& operator=(const TextOutput&) = delete;

  TextOutput& operator<<(std::string_view text);
  TextOutput& operator<<(char character) { return *this << std::string_view(&character, 1); }
  template <std::integral T>
  requires(!std::same_as<T, bool>) TextOutput& operator<<(T number) {
    return *this << std::string_view(std::to_string(number));
  }
  /// Writes what the file holds in its buffer.
  void flush();
  /// False if something could not be written.
  bool ok() const { return ok_; }
  /// The file that this object writes to, for code that writes to its descriptor; null for a text in memory.
  std::FILE* file() const { return file_; }
  /// Makes ok() false: such a write has failed.
  void note_failure() { ok_ = false; }

 private:
  std::FILE* file_ = nullptr;
  std::string* text_ = nullptr;
  bool ok_ = true;
};

}  // namespace shoal::cli
