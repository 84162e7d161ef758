// SPDX-License-Identifier: Apache-2.0
// batch and padded_batch: consecutive elements stacked. Rows go straight from where they are into the batch.
#include "nodes.h"
#include "padding.h"

namespace shoal::data {
namespace {

std::string described(const Column& column) {
  return std::string(to_string(column.dtype)) + " " + to_string(column.shape);
}

class BatchStage final : public Stage {
 public:
  /// `padding`: null if all elements have to be alike; it outlives the stage.
  BatchStage(StageContext& context, std::unique_ptr<Stage> input, int64_t size, bool drop_remainder, const Padding* padding)
      : context_(context), input_(std::move(input)), size_(size), drop_remainder_(drop_remainder), padding_(padding) {}

  Result<bool> next(Item& item) override {
    size_t count = 0;
    for (; int64_t(count) < size_; ++count) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (rows_.size() == count) rows_.emplace_back();
      SHOAL_TRY(const bool more, input_->next(rows_[count]));
      if (!more) break;
    }
    if (count == 0 || (drop_remainder_ && int64_t(count) < size_)) return false;
    SHOAL_TRY_VOID(check_rank());
    for (size_t row = 1; row < count; ++row) SHOAL_TRY_VOID(check_alike(row));
    if (padding_) SHOAL_TRY_VOID(padding_->check_names(rows_[0]));
    SHOAL_TRY_VOID(stack(count, item.own()));
    item.set_records_of_rows(std::span(rows_).first(count));
    return true;
  }

  Result<int64_t> skip(int64_t count) override {
    if (count > INT64_MAX / size_) return Stage::skip(count);
    SHOAL_TRY(const int64_t elements, input_->skip(count * size_));
    return drop_remainder_ ? elements / size_ : (elements + size_ - 1) / size_;
  }
  Result<void> restart() override { return input_->restart(); }
  Result<void> save(StateWriter& out) const override { return input_->save(out); }
  Result<void> load(StateReader& in) override { return input_->load(in); }

 private:
  Result<void> check_rank() const {
    for (size_t i = 0; i < rows_[0].columns(); ++i) {
      const Column column = rows_[0].column(i);
      if (column.shape.rank() < Shape::kRankMax) continue;
      return invalid_argument("batch: \"" + *column.name + "\" of " + described(column) +
                              " has as many dimensions as a tensor can have; there is no room for another");
    }
    return {};
  }

  Result<void> check_alike(size_t row) const {
    const Item &first = rows_[0], &other = rows_[row];
    if (other.alike(first)) return {};
    const std::string where = "batch: element " + std::to_string(row) + " of the batch ";
    if (other.columns() != first.columns() || other.features() != first.features()) {
      return invalid_argument(where + "has other features or labels than element 0");
    }
    for (size_t i = 0; i < first.columns(); ++i) {
      const Column expected = first.column(i), found = other.column(i);
      if (*found.name != *expected.name) return invalid_argument(where + "has other features or labels than element 0");
      const bool fits = padding_ ? found.shape.rank() == expected.shape.rank() : found.shape == expected.shape;
      if (found.dtype == expected.dtype && fits) continue;
      return invalid_argument(where + "has " + (i < first.features() ? "feature \"" : "label \"") + *found.name + "\" of " +
                              described(found) + ", element 0 of " + described(expected) +
                              (padding_ ? "" : "; make them equal with map, or use padded_batch"));
    }
    return {};
  }

  Result<void> stack(size_t count, Element& batch) {
    const Item& first = rows_[0];
    const size_t features = first.features();
    ready_names(batch.features, first, 0, features);
    ready_names(batch.labels, first, features, first.columns() - features);
    for (size_t i = 0; i < first.columns(); ++i) {
      Tensor& target = i < features ? batch.features.begin()[ptrdiff_t(i)].second
                                    : batch.labels.begin()[ptrdiff_t(i - features)].second;
      const Column like = first.column(i);
      Shape shape = like.shape;
      if (padding_) {
        SHOAL_TRY(shape, padding_->common_shape(std::span(rows_).first(count), i));
      }
      ready_tensor(target, like.dtype, stacked(shape, int64_t(count)), context_.env.buffers());
      if (padding_) {
        padding_->fill(first, i, target);
        for (size_t row = 0; row < count; ++row) copy_into_corner(rows_[row].column(i), target, int64_t(row));
      } else {
        for (size_t row = 0; row < count; ++row) copy_row(rows_[row].column(i), target, int64_t(row));
      }
    }
    return {};
  }

  static Shape stacked(const Shape& row, int64_t count) {
    std::array<int64_t, Shape::kRankMax> dims{count};
    std::copy(row.dims().begin(), row.dims().end(), dims.begin() + 1);
    return Shape(std::span<const int64_t>(dims.data(), size_t(row.rank()) + 1));
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const int64_t size_;
  const bool drop_remainder_;
  const Padding* const padding_;
  std::vector<Item> rows_;
};

class BatchNode final : public Node {
 public:
  BatchNode(NodePtr input, int64_t size, bool drop_remainder, std::optional<Padding> padding = std::nullopt)
      : Node({std::move(input)}), size_(size), drop_remainder_(drop_remainder), padding_(std::move(padding)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().make_stage(context));
    return std::make_unique<BatchStage>(context, std::move(stage), size_, drop_remainder_, padding_ ? &*padding_ : nullptr);
  }
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
