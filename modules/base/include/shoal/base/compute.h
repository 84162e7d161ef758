// SPDX-License-Identifier: Apache-2.0
#pragma once
/// compute() calls a function on the compute thread and returns the function's result to the coroutine that awaits it.
#include <functional>
#include <optional>
#include <type_traits>
#include <utility>

#include "shoal/base/environment.h"

namespace shoal {

namespace compute_detail {

template <class T>
struct Answer {
  using type = Result<T>;
};
template <class T>
struct Answer<Result<T>> {
  using type = Result<T>;
};

}  // namespace compute_detail

/// The type that compute() returns for a function that returns T: T itself if T is a Result, else Result<T>.
template <class T>
using ComputeResult = typename compute_detail::Answer<T>::type;

/// Calls fn(args...) by Environment::offload() and returns its value or error; returns Cancelled, without calling `fn`, if
/// the task has been killed. `fn` may be a member function; its first argument is then the address of the object:
///
///   SHOAL_CO_TRY(const Batch batch, co_await compute(env_, &Reader::next, &reader_));
///
/// Give a lambda with captures a name first (g++ 12 destroys an unnamed one inside a co_await expression twice;
/// tests/architecture/check_coroutines.py refuses it):
///
///   const auto append = [&] { return writer.append(file, bytes); };
///   SHOAL_CO_TRY_VOID(co_await compute(env_, append));
///
/// `fn` and `args` are kept in the coroutine's frame. Whatever they refer to has to live until compute() returns.
template <class Fn, class... Args>
Task<ComputeResult<std::invoke_result_t<Fn&, Args&...>>> compute(Environment& env, Fn fn, Args... args) {
  using Returned = std::invoke_result_t<Fn&, Args&...>;
  if constexpr (std::is_void_v<Returned>) {
    Work work = [&] { std::invoke(fn, args...); };
    co_return co_await env.offload(std::move(work));
  } else {
    std::optional<Returned> returned;
    Work work = [&] { returned.emplace(std::invoke(fn, args...)); };
    SHOAL_CO_TRY_VOID(co_await env.offload(std::move(work)));
    co_return *std::move(returned);
  }
}

}  // namespace shoal
