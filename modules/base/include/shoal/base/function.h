// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A move-only callable with room for small captures. std::function needs copyable captures, and allocates memory for
/// captures of more than two words.
#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

#include "shoal/base/check.h"

namespace shoal {

template <class Signature>
class UniqueFunction;

template <class R, class... Args>
class UniqueFunction<R(Args...)> {
 public:
  UniqueFunction() = default;
  template <class F>
  requires(!std::is_same_v<std::remove_cvref_t<F>, UniqueFunction> && std::is_invocable_r_v<R, F&, Args...>)
      UniqueFunction(F&& f) {
    using Fn = std::remove_cvref_t<F>;
    if constexpr (sizeof(Fn) <= kInlineBytes && alignof(Fn) <= alignof(std::max_align_t) &&
                  std::is_nothrow_move_constructible_v<Fn>) {
      ::new (storage_) Fn(std::forward<F>(f));
      table_ = &kInlineTable<Fn>;
    } else {
      ::new (storage_) Fn*(new Fn(std::forward<F>(f)));
      table_ = &kHeapTable<Fn>;
    }
  }
  UniqueFunction(UniqueFunction&& other) noexcept { take(other); }
  UniqueFunction& operator=(UniqueFunction&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~UniqueFunction() { reset(); }

  explicit operator bool() const { return table_ != nullptr; }
  R operator()(Args... args) {
    SHOAL_DCHECK(table_ != nullptr);
    return table_->call(storage_, std::forward<Args>(args)...);
  }

 private:
  static constexpr size_t kInlineBytes = 48;
  struct Table {
    R (*call)(void*, Args&&...);
    void (*move)(void* from, void* to) noexcept;
    void (*destroy)(void*) noexcept;
  };
  template <class Fn>
  static constexpr Table kInlineTable{
      [](void* p, Args&&... args) -> R { return (*static_cast<Fn*>(p))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept {
        ::new (to) Fn(std::move(*static_cast<Fn*>(from)));
        static_cast<Fn*>(from)->~Fn();
      },
      [](void* p) noexcept { static_cast<Fn*>(p)->~Fn(); }};
  template <class Fn>
  static constexpr Table kHeapTable{
      [](void* p, Args&&... args) -> R { return (**static_cast<Fn**>(p))(std::forward<Args>(args)...); },
      [](void* from, void* to) noexcept { ::new (to) Fn*(*static_cast<Fn**>(from)); },
      [](void* p) noexcept { delete *static_cast<Fn**>(p); }};

  void take(UniqueFunction& other) noexcept {
    table_ = std::exchange(other.table_, nullptr);
    if (table_) table_->move(other.storage_, storage_);
  }
  void reset() noexcept {
    if (const Table* table = std::exchange(table_, nullptr)) table->destroy(storage_);
  }
  alignas(std::max_align_t) std::byte storage_[kInlineBytes];
  const Table* table_ = nullptr;
};

/// A function that is called at most once.
using Work = UniqueFunction<void()>;

}  // namespace shoal
