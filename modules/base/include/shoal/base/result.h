// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Result<T>: a value or an Error. Member names follow C++23's std::expected, which may replace it.
#include <optional>
#include <type_traits>
#include <utility>
#include <variant>

#include "shoal/base/check.h"
#include "shoal/base/error.h"

namespace shoal {

template <class T>
class [[nodiscard]] Result {
 public:
  using value_type = T;
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}
  /// Takes anything that T is made from (a derived unique_ptr, a string literal).
  template <class U>
    requires(std::is_convertible_v<U &&, T> && !std::is_same_v<std::remove_cvref_t<U>, Result> &&
             !std::is_same_v<std::remove_cvref_t<U>, Error> && !std::is_same_v<std::remove_cvref_t<U>, T>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool has_value() const { return state_.index() == 0; }
  explicit operator bool() const { return has_value(); }

  T& value() & { return check(), *std::get_if<0>(&state_); }
  const T& value() const& { return check(), *std::get_if<0>(&state_); }
  T&& value() && { return check(), std::move(*std::get_if<0>(&state_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return SHOAL_CHECK(!has_value()), *std::get_if<1>(&state_); }
  Error&& error() && { return SHOAL_CHECK(!has_value()), std::move(*std::get_if<1>(&state_)); }
  T value_or(T other) && { return has_value() ? std::move(*std::get_if<0>(&state_)) : std::move(other); }

 private:
  void check() const { SHOAL_CHECK(has_value()); }
  std::variant<T, Error> state_;
};

template <>
class [[nodiscard]] Result<void> {
 public:
  using value_type = void;
  Result() = default;
  Result(Error error) : error_(std::move(error)) {}

  bool has_value() const { return !error_.has_value(); }
  explicit operator bool() const { return has_value(); }
  void value() const { SHOAL_CHECK(has_value()); }
  const Error& error() const& { return SHOAL_CHECK(!has_value()), *error_; }
  Error&& error() && { return SHOAL_CHECK(!has_value()), std::move(*error_); }

 private:
  std::optional<Error> error_;
};

/// The value, or raise(): the step from the inside (values) to the surface (one exception).
template <class T>
T value_or_raise(Result<T> result) {
  if (!result) raise(std::move(result).error());
  if constexpr (!std::is_void_v<T>) return std::move(result).value();
}

}  // namespace shoal

#define SHOAL_CONCAT_INNER(a, b) a##b
#define SHOAL_CONCAT(a, b) SHOAL_CONCAT_INNER(a, b)

#define SHOAL_TRY_IMPL(ret, tmp, decl, ...)          \
  auto tmp = (__VA_ARGS__);                          \
  if (!tmp) [[unlikely]]                             \
    ret std::move(tmp).error();                      \
  decl = std::move(tmp).value()
#define SHOAL_TRY_VOID_IMPL(ret, tmp, ...) \
  do {                                     \
    auto tmp = (__VA_ARGS__);              \
    if (!tmp) [[unlikely]]                 \
      ret std::move(tmp).error();          \
  } while (false)

/// SHOAL_TRY(auto x, f());   x is f()'s value, or the function returns f()'s error.
#define SHOAL_TRY(decl, ...) SHOAL_TRY_IMPL(return, SHOAL_CONCAT(shoal_try_, __LINE__), decl, __VA_ARGS__)
/// SHOAL_TRY_VOID(f());   the same for Result<void>.
#define SHOAL_TRY_VOID(...) SHOAL_TRY_VOID_IMPL(return, SHOAL_CONCAT(shoal_try_, __LINE__), __VA_ARGS__)
/// The same two in a coroutine, as in `SHOAL_CO_TRY(auto x, co_await f());`.
#define SHOAL_CO_TRY(decl, ...) SHOAL_TRY_IMPL(co_return, SHOAL_CONCAT(shoal_try_, __LINE__), decl, __VA_ARGS__)
#define SHOAL_CO_TRY_VOID(...) SHOAL_TRY_VOID_IMPL(co_return, SHOAL_CONCAT(shoal_try_, __LINE__), __VA_ARGS__)
