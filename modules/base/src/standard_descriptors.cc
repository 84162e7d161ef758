// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/standard_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <mutex>

namespace shoal {
namespace {

/// The state that all StandardDescriptors objects share: how many of them exist (users), and which of the descriptors 0 to
/// 2 the first one opened because it found them closed (numbers).
struct Taken {
  std::mutex mutex;
  int users = 0;
  std::array<bool, STDERR_FILENO + 1> numbers{};
};

Taken& taken() {
  static Taken shared;
  return shared;
}

/// Opens something that can neither be read nor written, which gets the lowest free number; -1 on failure.
int take_lowest() { return ::open("/", O_PATH | O_DIRECTORY | O_CLOEXEC); }

/// False if the program has meanwhile replaced the descriptor by one of its own.
bool is_still_ours(int number) { return (::fcntl(number, F_GETFL) & O_PATH) != 0; }

}  // namespace

StandardDescriptors::StandardDescriptors() {
  const std::lock_guard lock(taken().mutex);
  if (taken().users++ > 0) return;
  for (int number; (number = take_lowest()) >= 0;) {
    if (number > STDERR_FILENO) {
      ::close(number);
      return;
    }
    taken().numbers[size_t(number)] = true;
  }
}

StandardDescriptors::~StandardDescriptors() {
  const std::lock_guard lock(taken().mutex);
  if (--taken().users > 0) return;
  for (int number = 0; number <= STDERR_FILENO; ++number) {
    if (taken().numbers[size_t(number)] && is_still_ours(number)) ::close(number);
  }
  taken().numbers = {};
}

}  // namespace shoal
