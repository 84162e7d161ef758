// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A Hidden<T> owns one object, whose type T need not be defined in the header of the class that has it as a member.
///
/// A std::unique_ptr does the same, and each of its instantiations costs whoever includes the header several milliseconds of
/// compile time (docs/decisions/light-headers.md); this one costs next to nothing. T may be incomplete in the header: then the
/// owner's destructor, and its moves if it has any, are declared there and defined in the source file.
#include <utility>

namespace shoal {

template <class T>
class Hidden {
 public:
  Hidden() = default;  ///< Empty.
  /// Takes the object over.
  explicit Hidden(T* object) : object_(object) {}
  Hidden(Hidden&& other) noexcept : object_(std::exchange(other.object_, nullptr)) {}
  Hidden& operator=(Hidden&& other) noexcept {
    std::swap(object_, other.object_);
    return *this;
  }
  ~Hidden() { delete object_; }

  T& operator*() const { return *object_; }
  T* operator->() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  T* object_ = nullptr;
};

/// A hidden T made of `arguments`.
template <class T, class... Arguments>
Hidden<T> make_hidden(Arguments&&... arguments) {
  return Hidden<T>(new T{std::forward<Arguments>(arguments)...});
}

}  // namespace shoal
