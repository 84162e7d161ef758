// SPDX-License-Identifier: Apache-2.0
// batch and padded_batch: consecutive elements stacked.
#include "nodes.h"
#include "padding.h"
#include "shoal/base/format.h"
#include "stack.h"

namespace shoal::data {
namespace {

class BatchStage final : public Stage {
 public:
  /// `padding`, which outlives the stage, is null if all elements must have equal names, types and shapes.
  BatchStage(StageContext& context, std::unique_ptr<Stage> input, int64_t size, bool drop_remainder, const Padding* padding)
      : context_(context), input_(std::move(input)), size_(size), drop_remainder_(drop_remainder), padding_(padding) {}

  Result<bool> next(Item& item) override {
    if (rows_.empty()) rows_.emplace_back();
    SHOAL_TRY_VOID(check_stopping(context_));
    SHOAL_TRY(const bool more, input_->next(rows_[0]));
    if (!more) return false;
    const bool filled = !padding_ && BatchFiller::is_small(rows_[0], size_);
    return filled ? fill(item) : collect(item);
  }

  Result<int64_t> skip(int64_t count) override {
    if (count > INT64_MAX / size_) return Stage::skip(count);
    SHOAL_TRY(const int64_t elements, input_->skip(count * size_));
    return drop_remainder_ ? elements / size_ : (elements + size_ - 1) / size_;
  }
  Result<void> restart(uint64_t pass) override { return input_->restart(pass); }
  Result<void> save(StateWriter& out) const override { return input_->save(out); }
  Result<void> load(StateReader& in) override { return input_->load(in); }

 private:
  /// Copies elements into the batch as they arrive; rows_[0] is the first. An element that does not fit becomes an error
  /// only once the batch is complete, so an incomplete batch that is dropped raises no error.
  Result<bool> fill(Item& item) {
    Result<void> fits = filler_.begin(rows_[0], size_, item);
    if (fits) fits = filler_.add(rows_[0]);
    int64_t count = 1;
    for (; count < size_; ++count) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, input_->next(rows_[0]));
      if (!more) break;
      if (fits) fits = filler_.add(rows_[0]);
    }
    if (drop_remainder_ && count < size_) return false;
    SHOAL_TRY_VOID(std::move(fits));
    filler_.finish(item);
    return true;
  }
  /// Waits for all elements of the batch, then makes it. Used with padding, which needs the sizes of all elements, and for
  /// large elements.
  Result<bool> collect(Item& item) {
    size_t count = 1;
    uint64_t bytes = bytes_of(rows_[0]);
    for (; int64_t(count) < size_; ++count, bytes += bytes_of(rows_[count - 1])) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (bytes_max_ != 0 && bytes + count * sizeof(Item) > bytes_max_) return too_large(count, bytes);
      if (rows_.size() == count) rows_.emplace_back();
      SHOAL_TRY(const bool more, input_->next(rows_[count]));
      if (!more) break;
    }
    if (drop_remainder_ && int64_t(count) < size_) return false;
    SHOAL_TRY_VOID(stack("batch", std::span(rows_).first(count), padding_, context_.env.buffers(), item));
    return true;
  }

  Error too_large(size_t count, uint64_t bytes) const {
    constexpr double kMib = 1 << 20;
    return failed_precondition(
        formatted("batch(%lld): its first %zu elements take %.0f MiB", static_cast<long long>(size_), count,
                  double(bytes + count * sizeof(Item)) / kMib) +
        formatted(", and a batch of this process may have %.0f MiB; make the batch smaller", double(bytes_max_) / kMib));
  }

  StageContext& context_;
  // 0: there is no limit.
  const uint64_t bytes_max_ =
      context_.options.batch_bytes_max ? uint64_t(*context_.options.batch_bytes_max) : context_.env.process().memory_bytes;
  std::unique_ptr<Stage> input_;
  const int64_t size_;
  const bool drop_remainder_;
  const Padding* const padding_;
  BatchFiller filler_{context_.env.buffers()};
  std::vector<Item> rows_;
};

class BatchNode final : public Node {
 public:
  BatchNode(NodePtr input, int64_t size, bool drop_remainder, std::optional<Padding> padding = std::nullopt)
      : Node({std::move(input)}), size_(size), drop_remainder_(drop_remainder), padding_(std::move(padding)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    const bool drops = drop_remainder_ && !context.types_only;
    return std::make_unique<BatchStage>(context, std::move(stage), size_, drops, padding_ ? &*padding_ : nullptr);
  }
  std::string_view kind() const override { return "batch"; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(fold_in(key, "batch"), uint64_t(size_)), drop_remainder_);
    return padding_ ? padding_->fold_parameters(key) : key;
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count) return count;
    return *count / size_ + (!drop_remainder_ && *count % size_ != 0);
  }

 private:
  int64_t size_;
  bool drop_remainder_;
  const std::optional<Padding> padding_;
};

}  // namespace

NodePtr make_batch_node(NodePtr input, int64_t size, bool drop_remainder) {
  return std::make_shared<BatchNode>(std::move(input), size, drop_remainder);
}

NodePtr make_padded_batch_node(NodePtr input, int64_t size, PaddedBatchOptions options) {
  const bool drop_remainder = options.drop_remainder;
  return std::make_shared<BatchNode>(std::move(input), size, drop_remainder, Padding(std::move(options)));
}

}  // namespace shoal::data
