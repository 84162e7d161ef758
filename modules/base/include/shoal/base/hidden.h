// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A Hidden<T> owns one T. The header of the class that has it as a member need not define T.
///
/// std::unique_ptr does the same, but each of its instantiations costs every program that includes the header several
/// milliseconds of compile time (docs/decisions/light-headers.md); a Hidden costs next to nothing. If T is incomplete in
/// the header, the owner declares its destructor (and its move operations) there and defines them in the source file.
#include <utility>

namespace shoal {

template <class T>
class Hidden {
 public:
  Hidden() = default;  ///< Empty.
  /// Takes ownership of `object`.
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

/// A Hidden<T> with a new T made of `arguments`.
template <class T, class... Arguments>
Hidden<T> make_hidden(Arguments&&... arguments) {
  return Hidden<T>(new T{std::forward<Arguments>(arguments)...});
}

}  // namespace shoal
