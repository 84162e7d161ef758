// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A Boxed<T> is a member of an options struct and holds a T. Programs compile T's functions only if they use that member.
///
/// A std::variant as a member costs every program that includes the header some ten milliseconds of compile time, although
/// few programs set the member (docs/decisions/light-headers.md). A Boxed<T> converts from everything that T converts from,
/// so `.otherwise = 0.5` still works.
#include <memory>
#include <type_traits>
#include <utility>

#include "shoal/base/forever.h"

namespace shoal {

/// A value type. Copies share one T, which is never changed.
template <class T>
class Boxed {
 public:
  Boxed() = default;  ///< T's default value.
  template <class U>
  requires(!std::is_same_v<std::remove_cvref_t<U>, Boxed> && std::is_convertible_v<U&&, T>) Boxed(U&& value)
      : value_(std::make_shared<const T>(std::forward<U>(value))) {}  // NOLINT: reads like the option it is

  const T& operator*() const {
    static const T& otherwise = forever(T{});
    return value_ ? *value_ : otherwise;
  }
  const T* operator->() const { return &**this; }
  operator const T&() const { return **this; }  // NOLINT: likewise

 private:
  std::shared_ptr<const T> value_;
};

}  // namespace shoal
