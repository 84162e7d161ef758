// batch: consecutive elements stacked. Rows go straight from where they are into the batch.
#include "nodes.h"

namespace shoal::data {
namespace {

std::string described(const Column& column) {
  return std::string(to_string(column.dtype)) + " " + to_string(column.shape);
}

class BatchStage final : public Stage {
 public:
  BatchStage(StageContext& context, std::unique_ptr<Stage> input, int64_t size, bool drop_remainder)
      : context_(context), input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

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
    stack(count, item.own());
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
      if (found.dtype == expected.dtype && found.shape == expected.shape) continue;
      return invalid_argument(where + "has " + (i < first.features() ? "feature \"" : "label \"") + *found.name +
                              "\" of " + described(found) + ", element 0 of " + described(expected) +
                              "; make them equal with map");
    }
    return {};
  }

  void stack(size_t count, Element& batch) {
    const Item& first = rows_[0];
    const size_t features = first.features();
    ready_names(batch.features, first, 0, features);
    ready_names(batch.labels, first, features, first.columns() - features);
    for (size_t i = 0; i < first.columns(); ++i) {
      Tensor& target = i < features ? batch.features.begin()[ptrdiff_t(i)].second
                                    : batch.labels.begin()[ptrdiff_t(i - features)].second;
      const Column like = first.column(i);
      ready_tensor(target, like.dtype, stacked(like.shape, int64_t(count)), context_.env.buffers());
      for (size_t row = 0; row < count; ++row) copy_row(rows_[row].column(i), target, int64_t(row));
    }
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
  std::vector<Item> rows_;
};

class BatchNode final : public Node {
 public:
  BatchNode(NodePtr input, int64_t size, bool drop_remainder)
      : Node({std::move(input)}), size_(size), drop_remainder_(drop_remainder) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().make_stage(context));
    return std::make_unique<BatchStage>(context, std::move(stage), size_, drop_remainder_);
  }
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(fold_in(fold_in(key, "batch"), uint64_t(size_)), drop_remainder_);
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count) return count;
    return *count / size_ + (!drop_remainder_ && *count % size_ != 0);
  }

 private:
  int64_t size_;
  bool drop_remainder_;
};

}  // namespace

NodePtr make_batch_node(NodePtr input, int64_t size, bool drop_remainder) {
  return std::make_shared<BatchNode>(std::move(input), size, drop_remainder);
}

}  // namespace shoal::data
