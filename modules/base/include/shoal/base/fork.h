// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Processes that the user's program makes by fork(): such a child has the thread that called it, and no other.
#include <cstdint>
#include <memory>

namespace shoal {

/// How many calls of fork() lie between this process and the one that was the first to ask. Thread-safe.
uint32_t forks_so_far();

/// Deletes an object that has threads of its own, except in a child of fork() if the parent made the object. The threads stayed
/// in the parent, so that the child can join none of them, and locks that they held during fork() stay locked in the child.
template <class T>
class DeleteUnlessForked {
 public:
  void operator()(T* object) const {
    if (!is_of_parent()) delete object;
  }
  /// Whether the object was made before this process was.
  bool is_of_parent() const { return forks_ != forks_so_far(); }

 private:
  uint32_t forks_ = forks_so_far();
};

template <class T, class... Args>
std::unique_ptr<T, DeleteUnlessForked<T>> make_threaded(Args&&... args) {
  return std::unique_ptr<T, DeleteUnlessForked<T>>(new T(std::forward<Args>(args)...));
}

}  // namespace shoal
