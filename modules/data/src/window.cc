// SPDX-License-Identifier: Apache-2.0
// window: stacks runs of consecutive elements, which may overlap.
#include <algorithm>

#include "nodes.h"
#include "stack.h"

namespace shoal::data {
namespace {

class WindowStage final : public Stage {
 public:
  WindowStage(StageContext& context, std::unique_ptr<Stage> input, int64_t size, const WindowOptions& options)
      : context_(context),
        input_(std::move(input)),
        size_(size),
        options_(options),
        span_((size - 1) * options.stride + 1) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY_VOID(pass_over_gap());
    SHOAL_TRY_VOID(fill());
    if (count_ == 0) return false;
    const size_t rows = size_t(std::min(size_, (count_ - 1) / options_.stride + 1));
    if (rows_.size() < rows) rows_.resize(rows);
    for (size_t row = 0; row < rows; ++row) std::swap(rows_[row], items_[row * size_t(options_.stride)]);
    if (options_.drop_remainder && !context_.types_only && int64_t(rows) < size_) {
      // Drops the elements of the incomplete window, so that save() writes the input's end as position, not their start.
      count_ = 0;
      return false;
    }
    SHOAL_TRY_VOID(stack("window", std::span(rows_).first(rows), nullptr, context_.env.buffers(), item));
    for (size_t row = 0; row < rows; ++row) std::swap(rows_[row], items_[row * size_t(options_.stride)]);
    leave(std::min(options_.shift, count_));
    return true;
  }

  Result<void> restart(uint64_t pass) override {
    clear();
    return input_->restart(pass);
  }
  /// Saves where the next window begins: a position of the input, and how many elements to skip from there.
  Result<void> save(StateWriter& out) const override {
    out.number(uint64_t(gap_));
    if (count_ == 0) return input_->save(out);
    if (unsaved_) return *unsaved_;
    out.raw(before_[0]);
    return {};
  }
  Result<void> load(StateReader& in) override {
    clear();
    SHOAL_TRY(gap_, in.count());
    return input_->load(in);
  }

 private:
  Result<void> pass_over_gap() {
    if (gap_ > 0) SHOAL_TRY_VOID(input_->skip(gap_));
    gap_ = 0;
    return {};
  }

  /// Reads the elements that the next window spans, or fewer at the input's end.
  Result<void> fill() {
    while (count_ < span_) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (int64_t(items_.size()) == count_) {
        items_.emplace_back();
        before_.emplace_back();
      }
      // If the shift is smaller than the span, windows overlap, and a window may begin at an element that was read for an
      // earlier one. So the position of the input is saved before each element.
      if (options_.shift < span_) save_input(before_[size_t(count_)]);
      SHOAL_TRY(const bool more, input_->next(items_[size_t(count_)]));
      if (!more) return {};
      ++count_;
    }
    return {};
  }

  void save_input(std::string& position) {
    if (unsaved_) return;
    position.clear();
    StateWriter writer(position);
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
  }

  /// Drops the first `count` elements, and keeps their storage for later ones.
  void leave(int64_t count) {
    gap_ = options_.shift - count;
    std::rotate(items_.begin(), items_.begin() + count, items_.begin() + count_);
    std::rotate(before_.begin(), before_.begin() + count, before_.begin() + count_);
    count_ -= count;
  }

  void clear() {
    count_ = gap_ = 0;
    unsaved_.reset();
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const int64_t size_;
  const WindowOptions options_;
  const int64_t span_;               // The number of inputs from a window's first element to its last, both included.
  std::vector<Item> items_;          // The first count_ items have elements; items_[0] is the next window's first.
  std::vector<std::string> before_;  // The input's position before each item.
  int64_t count_ = 0;
  int64_t gap_ = 0;  // How many elements to pass over before the next window begins.
  std::vector<Item> rows_;
  std::optional<Error> unsaved_;
};

class WindowNode final : public Node {
 public:
  WindowNode(NodePtr input, int64_t size, WindowOptions options)
      : Node({std::move(input)}), size_(size), options_(options) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<WindowStage>(context, std::move(stage), size_, options_);
  }
  std::string_view kind() const override { return "window"; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "window"), uint64_t(size_)), uint64_t(options_.shift));
    return fold_in(fold_in(key, uint64_t(options_.stride)), options_.drop_remainder);
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count) return count;
    const int64_t left_out = options_.drop_remainder ? (size_ - 1) * options_.stride : 0;
    if (*count <= left_out) return 0;
    return (*count - left_out - 1) / options_.shift + 1;
  }

 private:
  const int64_t size_;
  const WindowOptions options_;
};

}  // namespace

NodePtr make_window_node(NodePtr input, int64_t size, WindowOptions options) {
  return std::make_shared<WindowNode>(std::move(input), size, options);
}

}  // namespace shoal::data
