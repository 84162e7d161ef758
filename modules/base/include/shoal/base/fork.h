#pragma once
/// Processes that the user's program makes by fork(): such a child has the thread that called it, and no other.
#include <cstdint>
#include <memory>

namespace shoal {

/// How many calls of fork() lie between this process and the one that was the first to ask. Thread-safe.
uint32_t forks_so_far();

/// Deletes an object that has threads of its own, but not in a child of fork() where the object came from the parent: its threads
/// stayed there, so nobody can join them, and locks that they held at that moment are held for ever.
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
