// SPDX-License-Identifier: Apache-2.0
#pragma once
/// compute() calls a function on the compute thread, and gives its result to the coroutine that waits for it.
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

/// What compute() gives for a function that returns T: Result<T>, or T itself where that is a Result.
template <class T>
using ComputeResult = typename compute_detail::Answer<T>::type;

/// Calls fn(args...) by Environment::offload() and returns what it returned, value or error; Cancelled, without a call, if
/// the task was killed before. `fn` may be a member function, and its first argument the object's address:
///
///   SHOAL_CO_TRY(const Batch batch, co_await compute(env_, &Reader::next, &reader_));
///
/// A lambda with captures is named first, as everywhere (g++ 12 destroys one inside a co_await expression twice, and
/// tests/architecture/check_coroutines.py refuses it):
///
///   const auto append = [&] { return writer.append(file, bytes); };
///   SHOAL_CO_TRY_VOID(co_await compute(env_, append));
///
/// `fn` and `args` are kept in the coroutine's frame, so what they refer to has to live until compute() returns.
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
