// SPDX-License-Identifier: Apache-2.0
// cache: keeps the elements of a complete pass in memory. Until a pass is complete, each one reads the input's first pass
// again. So all passes are equal, though a stage that reads ahead may complete one early. Saved positions do not contain the
// elements, so a restore reads the input again.
#include <algorithm>

#include "nodes.h"

namespace shoal::data {
namespace {

class CacheStage final : public Stage {
 public:
  CacheStage(StageContext& context, std::unique_ptr<Stage> input) : context_(context), input_(std::move(input)) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, have(index_));
    if (more) item.refer(elements_[index_++]);
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    if (!complete_) return Stage::skip(count);
    const size_t skipped = std::min(size_t(count), elements_.size() - index_);
    index_ += skipped;
    return int64_t(skipped);
  }
  Result<void> restart(uint64_t) override {
    index_ = 0;
    if (complete_) return {};
    forget();
    return input_->restart(0);
  }
  Result<void> save(StateWriter& out) const override {
    out.flag(complete_);
    out.number(index_);
    if (!begun_) return input_->save(out);
    if (unsaved_) return *unsaved_;
    out.raw(beginning_);
    return {};
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(const bool complete, in.flag());
    SHOAL_TRY(const int64_t index, in.count());
    SHOAL_TRY_VOID(input_->load(in));
    forget();
    while (complete ? !complete_ : int64_t(elements_.size()) < index) {
      SHOAL_TRY(const bool more, have(elements_.size()));
      if (!more && !complete) return damaged_position();
    }
    if (index > int64_t(elements_.size())) return damaged_position();
    index_ = size_t(index);
    return {};
  }

 private:
  /// Makes sure that element `index` (at most one past the remembered ones) is in elements_; false past the end.
  Result<bool> have(size_t index) {
    if (index < elements_.size()) return true;
    if (complete_) return false;
    SHOAL_TRY_VOID(check_stopping(context_));
    if (!begun_) begin();
    SHOAL_TRY(const bool more, input_->next(item_));
    if (!more) {
      complete_ = true;
      return false;
    }
    elements_.push_back(item_.share(context_.env.buffers()));
    return true;
  }

  void begin() {
    begun_ = true;
    unsaved_.reset();
    beginning_.clear();
    StateWriter writer(beginning_);
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
  }

  void forget() {
    elements_.clear();
    index_ = 0;
    begun_ = complete_ = false;
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  Item item_;
  std::vector<std::shared_ptr<const Held>> elements_;  // Shared with the items that later stages hold.
  size_t index_ = 0;
  bool begun_ = false;
  bool complete_ = false;
  std::string beginning_;  ///< The position of the input at the beginning of the pass that fills elements_.
  std::optional<Error> unsaved_;
};

class CacheNode final : public Node {
 public:
  explicit CacheNode(NodePtr input) : Node({std::move(input)}) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<CacheStage>(context, std::move(stage));
  }
  std::string_view kind() const override { return "cache"; }
  bool passes_elements_on() const override { return true; }
  std::optional<bool> reads_to_the_end() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "cache"); }
};

}  // namespace

NodePtr make_cache_node(NodePtr input) { return std::make_shared<CacheNode>(std::move(input)); }

}  // namespace shoal::data
