// SPDX-License-Identifier: Apache-2.0
// map() without threads.
#include "nodes.h"

namespace shoal::data {
namespace {

class MapStage final : public Stage {
 public:
  MapStage(StageContext& context, std::unique_ptr<Stage> input, const MapFn& fn)
      : context_(context), input_(std::move(input)), fn_(fn) {}

  Result<bool> next(Item& item) override {
    failed_ = false;
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    Result<void> applied = apply(fn_, item, context_, next_);
    ++next_.number;
    failed_ = !applied;
    SHOAL_TRY_VOID(std::move(applied));
    return true;
  }
  bool fails_for_one_element() const override { return failed_; }
  Result<int64_t> skip(int64_t count) override {
    SHOAL_TRY(const int64_t skipped, input_->skip(count));
    next_.number += skipped;
    return skipped;
  }
  Result<void> restart(uint64_t pass) override {
    next_ = {};
    return input_->restart(pass);
  }
  Result<void> save(StateWriter& out) const override { return input_->save(out); }
  Result<void> load(StateReader& in) override {
    next_ = {.resumed = true};
    return input_->load(in);
  }

 private:
  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const MapFn& fn_;
  ElementNumber next_;  // The number of the next element, for errors only: saved positions lack it.
  bool failed_ = false;
};

class MapNode final : public Node {
 public:
  MapNode(NodePtr input, MapFn fn) : Node({std::move(input)}), fn_(std::move(fn)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<MapStage>(context, std::move(stage), fn_);
  }
  std::string_view kind() const override { return "map"; }
  bool calls_function() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "map"); }
  bool has_errors_of_elements() const override { return true; }

 private:
  MapFn fn_;
};

}  // namespace

Result<void> apply(const MapFn& fn, Item& item, const StageContext& context, ElementNumber number) {
  // The result keeps the element's record, which says from where in a file the element was read. But if a batch has one
  // record for each row, these records are dropped, because fn may reorder the rows.
  const RecordId record = item.record();
  const int64_t row = item.row_of_tensors();
  Element& element = item.materialise(context.env.buffers());
  const auto where = [&] { return place_of_element(context, record, row, "map", number); };
  const auto call = [&] { return fn(std::move(element)); };
  SHOAL_TRY(Element made, call_user_function("the function of map", call, where));
  item.own() = std::move(made);
  item.set_record(record);
  return {};
}

NodePtr make_map_node(NodePtr input, MapFn fn) { return std::make_shared<MapNode>(std::move(input), std::move(fn)); }

}  // namespace shoal::data
