// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Coroutines. A Task<T> is lazy, has one owner, and resumes on the strand of the Environment that it waits on.
///
/// A Task starts when it is awaited (or given to Environment::run or TaskGroup::spawn). Frames come from a per-thread
/// cache, so awaiting in a steady loop allocates nothing. Coroutines take parameters by value: a reference may be gone
/// after the first suspension. A known trap: g++ 12 destroys a capturing lambda or an aggregate temporary inside a co_await
/// expression twice, so give it a name first. await_suspend returns bool, not a handle, since symmetric transfer crashes
/// g++ 12 without optimisation. With bool, the caller of a child that finishes at once continues in its own frame, so a
/// loop over such children does not use up the stack.
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include "shoal/base/check.h"
#include "shoal/base/error.h"

namespace shoal {

template <class T>
class Task;

namespace task_detail {

void* allocate_frame(size_t bytes);
void free_frame(void* frame, size_t bytes) noexcept;

struct PromiseBase {
  std::coroutine_handle<> continuation;

  static void* operator new(size_t bytes) { return allocate_frame(bytes); }
  static void operator delete(void* frame, size_t bytes) noexcept { free_frame(frame, bytes); }

  std::suspend_always initial_suspend() noexcept { return {}; }
  struct FinalAwaiter {
    bool await_ready() noexcept { return false; }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      // The continuation may destroy this frame, so nothing of the frame is used after resume().
      if (auto continuation = self.promise().continuation) continuation.resume();
    }
    void await_resume() noexcept {}
  };
  FinalAwaiter final_suspend() noexcept { return {}; }
};

/// Returns the error of a coroutine that ended by an exception. The exception must come from raise_exhausted()
/// (exhaustion.h): other code in coroutines returns its errors, and call_user() catches the exceptions of user code. Any
/// other exception ends the process.
Error error_of_unhandled_exception() noexcept;
/// Ends the process when an exception ends a coroutine without a caller, since nobody could receive the error.
[[noreturn]] void end_of_unhandled_exception() noexcept;

template <class T>
struct Promise : PromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  template <class U>
  void return_value(U&& result) {
    value.emplace(std::forward<U>(result));
  }
  void unhandled_exception() noexcept {
    if constexpr (std::is_constructible_v<T, Error>) {
      value.emplace(error_of_unhandled_exception());
    } else {
      end_of_unhandled_exception();
    }
  }
  T take() { return std::move(*value); }
};

template <>
struct Promise<void> : PromiseBase {
  Task<void> get_return_object();
  void return_void() noexcept {}
  void unhandled_exception() noexcept { end_of_unhandled_exception(); }
  void take() noexcept {}
};

}  // namespace task_detail

template <class T>
class [[nodiscard]] Task {
 public:
  using promise_type = task_detail::Promise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    if (this != &other) {
      if (handle_) handle_.destroy();
      handle_ = std::exchange(other.handle_, {});
    }
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  bool valid() const { return bool(handle_); }
  bool done() const { return handle_.done(); }
  /// Runs until the first suspension. Environment and TaskGroup call this; coroutines use co_await.
  void start() { handle_.resume(); }
  /// Starts the task. True if the task waits now and will resume `continuation` when it is done; false if it is done
  /// already.
  bool start_then(std::coroutine_handle<> continuation) {
    handle_.resume();
    if (handle_.done()) return false;
    handle_.promise().continuation = continuation;
    return true;
  }
  T take() { return handle_.promise().take(); }

  auto operator co_await() && noexcept {
    struct Awaiter {
      Handle handle;
      bool await_ready() noexcept { return false; }
      bool await_suspend(std::coroutine_handle<> awaiting) noexcept {
        handle.resume();
        if (handle.done()) return false;  // The child finished without waiting, so the caller goes on at once.
        handle.promise().continuation = awaiting;
        return true;
      }
      T await_resume() { return handle.promise().take(); }
    };
    SHOAL_DCHECK(handle_);
    return Awaiter{handle_};
  }

 private:
  Handle handle_;
};

template <class T>
Task<T> task_detail::Promise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<Promise<T>>::from_promise(*this));
}
inline Task<void> task_detail::Promise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<Promise<void>>::from_promise(*this));
}

}  // namespace shoal
