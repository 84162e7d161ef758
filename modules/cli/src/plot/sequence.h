// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of one tag of one run, by global step.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace shoal::cli::plot {

template <class T>
struct Timed {
  int64_t step = 0;
  double wall = 0;  ///< Seconds since 1970.
  T value{};
};

/// Values are added in the order in which the run's event files have them; settle() sorts them by step.
template <class T>
class Sequence {
 public:
  void add(Timed<T> item) {
    settled_ &= items_.empty() || item.step > items_.back().step;
    items_.push_back(std::move(item));
  }
  /// Sorts by step. If a step has several values, as after a repeated evaluation, the value added last stays.
  void settle() {
    if (settled_) return;
    std::stable_sort(items_.begin(), items_.end(), [](const auto& a, const auto& b) { return a.step < b.step; });
    size_t kept = 0;
    for (size_t i = 0; i < items_.size(); ++i) {
      const bool replaced = i + 1 < items_.size() && items_[i + 1].step == items_[i].step;
      if (replaced) continue;
      if (kept != i) items_[kept] = std::move(items_[i]);
      ++kept;
    }
    items_.resize(kept);
    settled_ = true;
  }
  /// Drops the values of `step` and of later steps that were written before `wall`.
  void drop_from(int64_t step, double wall) {
    settle();
    const auto late = std::lower_bound(items_.begin(), items_.end(), step,
                                       [](const Timed<T>& item, int64_t at) { return item.step < at; });
    items_.erase(std::remove_if(late, items_.end(), [wall](const Timed<T>& item) { return item.wall < wall; }),
                 items_.end());
  }
  /// The values, in the order of steps once settle() was called.
  const std::vector<Timed<T>>& items() const { return items_; }

 private:
  std::vector<Timed<T>> items_;
  bool settled_ = true;
};

}  // namespace shoal::cli::plot
