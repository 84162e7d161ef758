// SPDX-License-Identifier: Apache-2.0
// unbatch: returns the rows of each element, one by one.
#include <algorithm>

#include "nodes.h"

namespace shoal::data {
namespace {

class UnbatchStage final : public Stage {
 public:
  UnbatchStage(StageContext& context, std::unique_ptr<Stage> input) : context_(context), input_(std::move(input)) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, find_row());
    if (!more) return false;
    item.refer(*rows_, row_);
    item.materialise(context_.env.buffers());  // Copies the row, since the item may outlive rows_.
    item.set_record(item_.record_of_row(row_++));
    return true;
  }
  Result<int64_t> skip(int64_t count) override {
    int64_t skipped = 0;
    while (skipped < count) {
      SHOAL_TRY(const bool more, find_row());
      if (!more) break;
      const int64_t some = std::min(count - skipped, rows_->count() - row_);
      row_ += some;
      skipped += some;
    }
    return skipped;
  }
  Result<void> restart(uint64_t pass) override {
    rows_.reset();
    return input_->restart(pass);
  }
  /// Saves the input's position before the current element, and how many rows of that element were returned.
  Result<void> save(StateWriter& out) const override {
    out.number(rows_ ? uint64_t(row_) : 0);
    if (!rows_) return input_->save(out);
    if (unsaved_) return *unsaved_;
    out.raw(before_);
    return {};
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(const int64_t row, in.count());
    SHOAL_TRY_VOID(input_->load(in));
    rows_.reset();
    if (row == 0) return {};
    SHOAL_TRY(const bool more, open());
    if (!more || row > rows_->count()) return damaged_position();
    row_ = row;
    return {};
  }

 private:
  /// Makes row_ a valid row of rows_, from the next element if needed; false at the end.
  Result<bool> find_row() {
    while (!rows_ || row_ == rows_->count()) {
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, open());
      if (!more) return false;
    }
    return true;
  }

  Result<bool> open() {
    rows_.reset();
    before_.clear();
    StateWriter writer(before_);
    unsaved_.reset();
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
    SHOAL_TRY(const bool more, input_->next(item_));
    if (!more) return false;
    Element element = std::exchange(item_.materialise(context_.env.buffers()), Element());
    if (Result<void> checked = check_rows(element); !checked) return std::move(checked).error().with_context("unbatch");
    rows_.emplace(std::move(element));
    row_ = 0;
    return true;
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  Item item_;                 ///< The current element without its tensors: record_of_row() tells where each row was read.
  std::optional<Rows> rows_;  ///< The tensors of the current element.
  int64_t row_ = 0;           ///< The number of the next row of rows_.
  std::string before_;        ///< The input's position before the current element.
  std::optional<Error> unsaved_;
};

class UnbatchNode final : public Node {
 public:
  explicit UnbatchNode(NodePtr input) : Node({std::move(input)}) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<UnbatchStage>(context, std::move(stage));
  }
  std::string_view kind() const override { return "unbatch"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "unbatch"); }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }
};

}  // namespace

NodePtr make_unbatch_node(NodePtr input) { return std::make_shared<UnbatchNode>(std::move(input)); }

}  // namespace shoal::data
