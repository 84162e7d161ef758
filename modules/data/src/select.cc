// SPDX-License-Identifier: Apache-2.0
// Transforms that select elements of one input (filter, take, skip, shard), or number them (enumerate).
#include <algorithm>

#include "nodes.h"
#include "one_input_stage.h"
#include "positions.h"

namespace shoal::data {
namespace {

class FilterStage final : public OneInputStage {
 public:
  FilterStage(StageContext& context, std::unique_ptr<Stage> input, const FilterFn& fn)
      : OneInputStage(std::move(input)), context_(context), fn_(fn) {}
  Result<bool> next(Item& item) override {
    while (true) {
      failed_ = false;
      SHOAL_TRY_VOID(check_stopping(context_));
      SHOAL_TRY(const bool more, input_->next(item));
      if (!more) return false;
      Result<bool> keep = ask(fn_, item, context_, "the function of filter", next_);
      ++next_.number;
      failed_ = !keep;
      if (!keep || *keep) return keep;
    }
  }
  bool fails_for_one_element() const override { return failed_; }
  Result<void> restart(uint64_t pass) override {
    next_ = {};
    return OneInputStage::restart(pass);
  }
  Result<void> load(StateReader& in) override {
    next_ = {.resumed = true};
    return OneInputStage::load(in);
  }

 private:
  StageContext& context_;
  const FilterFn& fn_;
  ElementNumber next_;  // For error messages: the number of the next element. Saved positions do not contain it.
  bool failed_ = false;
};

/// Passes on the first elements. index_ counts them.
class TakeStage final : public OneInputStage {
 public:
  TakeStage(std::unique_ptr<Stage> input, int64_t count) : OneInputStage(std::move(input)), count_(count) {}
  Result<bool> next(Item& item) override {
    if (index_ >= count_) return false;
    SHOAL_TRY(const bool more, input_->next(item));
    index_ += more;
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    SHOAL_TRY(const int64_t skipped, input_->skip(std::min(count, std::max<int64_t>(count_ - index_, 0))));
    index_ += skipped;
    return skipped;
  }

 private:
  const int64_t count_;
};

/// Passes on elements until the function refuses one. A saved position of the dataset contains index_ (of OneInputStage),
/// which is 0 here, or 1 once the function has refused an element.
class TakeWhileStage final : public OneInputStage {
 public:
  TakeWhileStage(StageContext& context, std::unique_ptr<Stage> input, const FilterFn& fn)
      : OneInputStage(std::move(input)), context_(context), fn_(fn) {}
  Result<bool> next(Item& item) override {
    if (index_ > 0) return false;
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    SHOAL_TRY(const bool keep, ask(fn_, item, context_, "the function of take_while", next_));
    ++next_.number;
    if (!keep) index_ = 1;
    return keep;
  }
  Result<void> restart(uint64_t pass) override {
    next_ = {};
    return OneInputStage::restart(pass);
  }
  Result<void> load(StateReader& in) override {
    next_ = {.resumed = true};
    return OneInputStage::load(in);
  }

 private:
  StageContext& context_;
  const FilterFn& fn_;
  ElementNumber next_;  // For error messages: the number of the next element. Saved positions do not contain it.
};

/// Leaves out the first elements. A saved position of the dataset contains index_ (of OneInputStage), which is 0 here, or 1
/// once the first elements have been left out.
class SkipStage final : public OneInputStage {
 public:
  SkipStage(std::unique_ptr<Stage> input, int64_t count) : OneInputStage(std::move(input)), count_(count) {}
  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool some_left, skip_first());
    if (!some_left) return false;
    return input_->next(item);
  }
  Result<int64_t> skip(int64_t count) override {
    SHOAL_TRY(const bool some_left, skip_first());
    if (!some_left) return int64_t(0);
    return input_->skip(count);
  }

 private:
  Result<bool> skip_first() {
    if (count_ < 0) return false;
    if (index_ == 0) {
      SHOAL_TRY_VOID(input_->skip(count_));
      index_ = 1;
    }
    return true;
  }
  const int64_t count_;
};

/// index_ counts the elements taken from the input, modulo `count`.
class ShardStage final : public OneInputStage {
 public:
  ShardStage(std::unique_ptr<Stage> input, int64_t count, int64_t shard)
      : OneInputStage(std::move(input)), count_(count), shard_(shard) {}
  Result<bool> next(Item& item) override {
    const int64_t between = index_ <= shard_ ? shard_ - index_ : count_ - index_ + shard_;
    if (between > 0) {
      SHOAL_TRY(const int64_t skipped, input_->skip(between));
      index_ = (index_ + skipped) % count_;
      if (skipped < between) return false;
    }
    SHOAL_TRY(const bool more, input_->next(item));
    if (more) index_ = (index_ + 1) % count_;
    return more;
  }
  Result<int64_t> skip(int64_t count) override {
    if (count <= 0 || count > INT64_MAX / count_ - 1) return Stage::skip(count);
    const int64_t first = index_ <= shard_ ? shard_ - index_ : count_ - index_ + shard_;
    SHOAL_TRY(const int64_t skipped, input_->skip(first + (count - 1) * count_ + 1));
    index_ = int64_t((uint64_t(index_) + uint64_t(skipped)) % uint64_t(count_));
    return skipped <= first ? 0 : (skipped - first - 1) / count_ + 1;
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY_VOID(OneInputStage::load(in));
    return index_ < count_ ? Result<void>() : damaged_position();
  }

 private:
  const int64_t count_, shard_;
};

class EnumerateStage final : public OneInputStage {
 public:
  EnumerateStage(StageContext& context, std::unique_ptr<Stage> input, int64_t start, const std::string& name)
      : OneInputStage(std::move(input)), context_(context), start_(start), name_(name) {}
  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    Element& element = item.materialise(context_.env.buffers());
    element.features.set(name_, Tensor::scalar<int64_t>(start_ + index_++));
    return true;
  }
  Result<int64_t> skip(int64_t count) override {
    SHOAL_TRY(const int64_t skipped, input_->skip(count));
    index_ += skipped;
    return skipped;
  }

 private:
  StageContext& context_;
  const int64_t start_;
  const std::string& name_;
};

class FilterNode final : public Node {
 public:
  FilterNode(NodePtr input, FilterFn fn) : Node({std::move(input)}), fn_(std::move(fn)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<FilterStage>(context, std::move(stage), fn_);
  }
  std::string_view kind() const override { return "filter"; }
  bool passes_elements_on() const override { return true; }
  bool chooses_by_value() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "filter"); }
  bool has_errors_of_elements() const override { return true; }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  FilterFn fn_;
};

class TakeWhileNode final : public Node {
 public:
  TakeWhileNode(NodePtr input, FilterFn fn) : Node({std::move(input)}), fn_(std::move(fn)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<TakeWhileStage>(context, std::move(stage), fn_);
  }
  std::string_view kind() const override { return "take_while"; }
  bool passes_elements_on() const override { return true; }
  std::optional<bool> reads_to_the_end() const override { return false; }
  bool chooses_by_value() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "take while"); }
  std::optional<bool> is_finite() const override {
    return input().is_finite() == true ? std::optional<bool>(true) : std::nullopt;
  }
  bool repeats_for_ever() const override { return false; }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  FilterFn fn_;
};

class TakeNode final : public Node {
 public:
  TakeNode(NodePtr input, int64_t count) : Node({std::move(input)}), count_(count) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<TakeStage>(std::move(stage), count_);
  }
  std::string_view kind() const override { return "take"; }
  bool passes_elements_on() const override { return true; }
  std::optional<bool> reads_to_the_end() const override { return false; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(fold_in(key, "take"), uint64_t(count_)); }
  bool cuts_by_position() const override { return true; }
  std::optional<bool> is_finite() const override { return true; }
  bool repeats_for_ever() const override { return false; }
  std::optional<int64_t> cardinality() const override {
    if (count_ == 0) return 0;
    if (const std::optional<int64_t> count = input().cardinality()) return std::min(count_, *count);
    return input().is_finite() == false ? std::optional<int64_t>(count_) : std::nullopt;
  }

 private:
  int64_t count_;
};

class SkipNode final : public Node {
 public:
  SkipNode(NodePtr input, int64_t count) : Node({std::move(input)}), count_(count) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<SkipStage>(std::move(stage), count_);
  }
  std::string_view kind() const override { return "skip"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(fold_in(key, "skip"), uint64_t(count_)); }
  bool cuts_by_position() const override { return true; }
  std::optional<bool> is_finite() const override { return count_ < 0 ? true : input().is_finite(); }
  bool repeats_for_ever() const override { return count_ >= 0 && input().repeats_for_ever(); }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (count_ < 0) return 0;
    return count ? std::optional<int64_t>(std::max<int64_t>(*count - count_, 0)) : std::nullopt;
  }

 private:
  int64_t count_;
};

class ShardNode final : public Node {
 public:
  ShardNode(NodePtr input, int64_t count, int64_t index) : Node({std::move(input)}), count_(count), index_(index) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    const PositionNeed need = count_ > 1 ? PositionNeed::kSameOnAllTrainers : PositionNeed::kNone;
    SHOAL_TRY(std::unique_ptr<Stage> stage, make_stage_for(need, input(), context));
    return std::make_unique<ShardStage>(std::move(stage), count_, index_);
  }
  std::string_view kind() const override { return "shard"; }
  bool passes_elements_on() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(fold_in(fold_in(key, "shard"), uint64_t(count_)), uint64_t(index_));
  }
  std::optional<int64_t> cardinality() const override {
    const std::optional<int64_t> count = input().cardinality();
    if (!count) return count;
    return *count / count_ + (*count % count_ > index_);
  }
  bool is_shard() const override { return true; }

 private:
  int64_t count_, index_;
};

class EnumerateNode final : public Node {
 public:
  EnumerateNode(NodePtr input, int64_t start, std::string name)
      : Node({std::move(input)}), start_(start), name_(std::move(name)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<EnumerateStage>(context, std::move(stage), start_, name_);
  }
  std::string_view kind() const override { return "enumerate"; }
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(fold_in(fold_in(key, "enumerate"), uint64_t(start_)), name_);
  }

 private:
  int64_t start_;
  std::string name_;
};

}  // namespace

Result<bool> ask(const FilterFn& fn, Item& item, const StageContext& context, std::string_view what, ElementNumber number) {
  const int64_t row = item.row_of_tensors();
  const Element& element = item.readable(context.env.buffers());
  const auto where = [&] {
    const std::string_view stage = what.substr(what.rfind(' ') + 1);
    return place_of_element(context, item.record(), row, stage, number);
  };
  const auto call = [&] { return fn(element); };
  return call_user_function(what, call, where);
}

NodePtr make_filter_node(NodePtr input, FilterFn fn) {
  return std::make_shared<FilterNode>(std::move(input), std::move(fn));
}
NodePtr make_take_node(NodePtr input, int64_t count) { return std::make_shared<TakeNode>(std::move(input), count); }
NodePtr make_skip_node(NodePtr input, int64_t count) { return std::make_shared<SkipNode>(std::move(input), count); }
NodePtr make_shard_node(NodePtr input, int64_t count, int64_t index) {
  return std::make_shared<ShardNode>(std::move(input), count, index);
}
NodePtr make_take_while_node(NodePtr input, FilterFn fn) {
  return std::make_shared<TakeWhileNode>(std::move(input), std::move(fn));
}
NodePtr make_enumerate_node(NodePtr input, int64_t start, std::string name) {
  return std::make_shared<EnumerateNode>(std::move(input), start, std::move(name));
}

}  // namespace shoal::data
