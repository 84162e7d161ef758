// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Support for programs that call fork(). The child of a fork() has only the thread that called it.
#include <cstdint>
#include <memory>

namespace shoal {

/// The number of fork() calls between the first process that called this function and the present one. Thread-safe.
uint32_t forks_so_far();

/// Deletes an object that owns threads, but not in a child of fork() if the parent made the object: the threads exist in
/// the parent only, so the child cannot join them, and locks that they held during fork() stay locked in the child for
/// ever.
template <class T>
class DeleteUnlessForked {
 public:
  void operator()(T* object) const {
    if (!is_of_parent()) delete object;
  }
  /// Whether a parent process made the object, before fork().
  bool is_of_parent() const { return forks_ != forks_so_far(); }

 private:
  uint32_t forks_ = forks_so_far();
};

template <class T, class... Args>
std::unique_ptr<T, DeleteUnlessForked<T>> make_threaded(Args&&... args) {
  return std::unique_ptr<T, DeleteUnlessForked<T>>(new T(std::forward<Args>(args)...));
}

}  // namespace shoal
