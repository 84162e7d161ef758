// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Result<T>: a value or an Error. The members have the names of C++23's std::expected, which may replace this class.
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/error.h"

namespace shoal {

// The storage is a union: a std::variant for each type that a function of Shoal returns would cost every program that
// includes Shoal some milliseconds of compile time (docs/decisions/light-headers.md).
template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : value_(std::move(value)), has_value_(true) {}
  Result(Error error) : error_(std::move(error)), has_value_(false) {}
  /// Takes anything that converts to T (a derived unique_ptr, a string literal).
  template <class U>
  requires(std::is_convertible_v<U&&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
           !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, T>) Result(U&& value)
      : value_(std::forward<U>(value)), has_value_(true) {}
  Result(const Result& other) requires(std::is_copy_constructible_v<T>) : has_value_(other.has_value_) {
    if (has_value_) {
      ::new (static_cast<void*>(&value_)) T(other.value_);
    } else {
      ::new (static_cast<void*>(&error_)) Error(other.error_);
    }
  }
  Result(Result&& other) noexcept(std::is_nothrow_move_constructible_v<T>) : has_value_(other.has_value_) {
    take(std::move(other));
  }
  /// The parameter is made first, so that an exception from the copy leaves this object unchanged.
  Result& operator=(Result other) noexcept {
    destroy();
    has_value_ = other.has_value_;
    take(std::move(other));
    return *this;
  }
  ~Result() {
    if (!std::is_trivially_destructible_v<T> || !has_value_) destroy();
  }

  bool has_value() const { return has_value_; }
  explicit operator bool() const { return has_value_; }

  T& value() & { return check(), value_; }
  const T& value() const& { return check(), value_; }
  T&& value() && { return check(), std::move(value_); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return SHOAL_CHECK(!has_value_), error_; }
  Error&& error() && { return SHOAL_CHECK(!has_value_), std::move(error_); }
  T value_or(T other) && { return has_value_ ? std::move(value_) : std::move(other); }

 private:
  void check() const { SHOAL_CHECK(has_value_); }
  // take() and destroy() are not inlined. If they were, g++ 12 would warn in the caller's code: it believes that the
  // destructor of the union's other member, which was never constructed, may run.

  /// Constructs the same member (value or error) as `other` has. This object must have none yet.
  [[gnu::noinline]] void take(Result&& other) {
    if (has_value_) {
      ::new (static_cast<void*>(&value_)) T(std::move(other.value_));
    } else {
      ::new (static_cast<void*>(&error_)) Error(std::move(other.error_));
    }
  }
  [[gnu::noinline]] void destroy() {
    if (has_value_) {
      value_.~T();
    } else {
      error_.~Error();
    }
  }
  union {
    T value_;
    Error error_;
  };
  bool has_value_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return error_.kind_ == ErrorKind(0); }
  explicit operator bool() const { return has_value(); }
  void value() const { SHOAL_CHECK(has_value()); }
  const Error& error() const& { return SHOAL_CHECK(!has_value()), error_; }
  Error&& error() && { return SHOAL_CHECK(!has_value()), std::move(error_); }

 private:
  Error error_;
};

/// Returns the value or raises the error. Public functions thus turn Results, which the library uses, into exceptions.
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace shoal

#define SHOAL_CONCAT_INNER(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_INNER(a, b)

#define SHOAL_TRY_IMPL(ret, tmp, decl, ...) \
  auto tmp = (__VA_ARGS__);                 \
  if (!tmp) [[unlikely]]                    \
    ret std::move(tmp).error();             \
  decl = std::move(tmp).value()
#define SHOAL_TRY_VOID_IMPL(ret, tmp, ...) \
  do {                                     \
    auto tmp = (__VA_ARGS__);              \
    if (!tmp) [[unlikely]]                 \
      ret std::move(tmp).error();          \
  } while (false)

/// SHOAL_TRY(auto x, f());   defines x as f()'s value, or returns f()'s error from the function.
#define SHOAL_TRY(decl, ...) SHOAL_TRY_IMPL(return, SHOAL_CONCAT(shoal_try_, __LINE__), decl, __VA_ARGS__)
/// SHOAL_TRY_VOID(f());   returns f()'s error, if there is one, from the function; f() returns a Result<void>.
#define SHOAL_TRY_VOID(...) SHOAL_TRY_VOID_IMPL(return, SHOAL_CONCAT(shoal_try_, __LINE__), __VA_ARGS__)
/// SHOAL_TRY and SHOAL_TRY_VOID for coroutines, as in `SHOAL_CO_TRY(auto x, co_await f());`.
#define SHOAL_CO_TRY(decl, ...) SHOAL_TRY_IMPL(co_return, SHOAL_CONCAT(shoal_try_, __LINE__), decl, __VA_ARGS__)
#define SHOAL_CO_TRY_VOID(...) SHOAL_TRY_VOID_IMPL(co_return, SHOAL_CONCAT(shoal_try_, __LINE__), __VA_ARGS__)
