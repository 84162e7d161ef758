// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A file descriptor that is closed with its owner.
#include <unistd.h>

#include <utility>

#include "shoal/base/result.h"

namespace shoal::cli::launch {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor() { close(); }

  int number() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close() {
    if (number_ >= 0) ::close(std::exchange(number_, -1));
  }

 private:
  int number_ = -1;
};

struct Pipe {
  Descriptor reader, writer;
};
/// Makes a pipe. Programs that are started do not inherit its ends. Unavailable: too many files are open.
Result<Pipe> make_pipe();

}  // namespace shoal::cli::launch
