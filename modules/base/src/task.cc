// SPDX-License-Identifier: Apache-2.0
#include "shoal/base/task.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "died.h"
#include "exhaustion.h"

namespace shoal::task_detail {
namespace {

// Sanitizers find more mistakes when every frame is a fresh allocation.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SHOAL_FRAME_CACHE 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SHOAL_FRAME_CACHE 0
#endif
#endif
#ifndef SHOAL_FRAME_CACHE
#define SHOAL_FRAME_CACHE 1
#endif

#if SHOAL_FRAME_CACHE
/// A cache of memory for coroutine frames, one for each thread, with a list for each size. A freed frame goes to the cache
/// of the thread that frees it, even if another thread allocated it.
class FrameCache {
 public:
  // Only coroutine frames of up to 4 KiB are cached. The cache of a thread holds at most 4.1 MiB.
  static constexpr size_t kGranule = 64, kClasses = 64, kPerClassMax = 32;

  ~FrameCache() {
    for (List& list : lists_) {
      while (void* frame = list.take()) ::operator delete(frame);
    }
    gone_ = true;
  }
  void* take(size_t index) { return lists_[index].take(); }
  bool give(size_t index, void* frame) { return lists_[index].give(frame); }
  /// True after this thread's cache is destroyed: destructors of thread_local objects may still free frames then.
  static bool gone() { return gone_; }

 private:
  struct List {
    struct Node {
      Node* next;
    };
    Node* first = nullptr;
    size_t count = 0;
    void* take() {
      if (!first) return nullptr;
      --count;
      return std::exchange(first, first->next);
    }
    bool give(void* frame) {
      if (count == kPerClassMax) return false;
      ++count;
      first = ::new (frame) Node{first};
      return true;
    }
  };
  std::array<List, kClasses> lists_{};
  static thread_local bool gone_;
};
thread_local bool FrameCache::gone_ = false;
thread_local FrameCache frame_cache;

size_t class_of(size_t bytes) { return (bytes - 1) / FrameCache::kGranule; }
#endif

}  // namespace

void* allocate_frame(size_t bytes) {
#if SHOAL_FRAME_CACHE
  const size_t index = class_of(bytes);
  if (index >= FrameCache::kClasses || FrameCache::gone()) return ::operator new(bytes);
  if (void* frame = frame_cache.take(index)) return frame;
  return ::operator new((index + 1) * FrameCache::kGranule);
#else
  return ::operator new(bytes);
#endif
}

void free_frame(void* frame, size_t bytes) noexcept {
#if SHOAL_FRAME_CACHE
  const size_t index = class_of(bytes);
  if (index < FrameCache::kClasses && !FrameCache::gone() && frame_cache.give(index, frame)) return;
#endif
  static_cast<void>(bytes);
  ::operator delete(frame);
}

/// An exception that interrupts a coroutine may leave data half changed, and other coroutines would use these data. So it
/// ends the process, except for raise_exhausted(), whose callers leave nothing half changed.
Error error_of_unhandled_exception() noexcept {
  if (std::optional<Error> error = raised_exhaustion()) return *std::move(error);
  end_of_unhandled_exception();
}

void end_of_unhandled_exception() noexcept { died_of_current_exception("a coroutine"); }

}  // namespace shoal::task_detail
