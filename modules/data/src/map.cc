// map() without threads.
#include "nodes.h"

namespace shoal::data {
namespace {

class MapStage final : public Stage {
 public:
  MapStage(StageContext& context, std::unique_ptr<Stage> input, const MapFn& fn)
      : context_(context), input_(std::move(input)), fn_(fn) {}

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    SHOAL_TRY_VOID(apply(fn_, item, context_.env.buffers()));
    return true;
  }
  Result<int64_t> skip(int64_t count) override { return input_->skip(count); }
  Result<void> restart() override { return input_->restart(); }
  Result<void> save(StateWriter& out) const override { return input_->save(out); }
  Result<void> load(StateReader& in) override { return input_->load(in); }

 private:
  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const MapFn& fn_;
};

class MapNode final : public Node {
 public:
  MapNode(NodePtr input, MapFn fn) : Node({std::move(input)}), fn_(std::move(fn)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().make_stage(context));
    return std::make_unique<MapStage>(context, std::move(stage), fn_);
  }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "map"); }

 private:
  MapFn fn_;
};

}  // namespace

Result<void> apply(const MapFn& fn, Item& item, BufferPool& pool) {
  Element& element = item.materialise(pool);
  SHOAL_TRY(Result<Element> called, call_user("the function of map", [&] { return fn(std::move(element)); }));
  SHOAL_TRY(item.own(), std::move(called));
  return {};
}

NodePtr make_map_node(NodePtr input, MapFn fn) { return std::make_shared<MapNode>(std::move(input), std::move(fn)); }

}  // namespace shoal::data
