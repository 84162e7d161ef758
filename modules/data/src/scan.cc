// SPDX-License-Identifier: Apache-2.0
// scan: makes each element from an input and from a state that the stage carries along.
#include "element_state.h"
#include "nodes.h"
#include "one_input_stage.h"

namespace shoal::data {
namespace {

// Small, since a trainer sends the position in its input with each gradient, and the position contains the state.
constexpr size_t kStateBytesMax = 4096;

/// Replaces each tensor of `state` that shares its storage by a copy, so that the user's function may write to it. Shared are
/// the tensors of the initial state, and those that the function has returned in an element or taken from one.
void own_storage(Element& state) {
  for (TensorMap* map : {&state.features, &state.labels}) {
    for (auto& [name, tensor] : *map) {
      if (!tensor.unique()) tensor = tensor.clone();
    }
  }
}

class ScanStage final : public OneInputStage {
 public:
  ScanStage(StageContext& context, std::unique_ptr<Stage> input, const Element& initial, const ScanFn& fn)
      : OneInputStage(std::move(input)), context_(context), initial_(initial), fn_(fn), state_(initial) {
    own_storage(state_);
  }

  Result<bool> next(Item& item) override {
    SHOAL_TRY(const bool more, input_->next(item));
    if (!more) return false;
    const RecordId record = item.record();
    const int64_t row = item.row_of_tensors();
    Element& element = item.materialise(context_.env.buffers());
    const ElementNumber number{index_, false};
    const auto where = [&] { return place_of_element(context_, record, row, "scan", number); };
    const auto call = [&] { return fn_(state_, std::move(element)); };
    SHOAL_TRY(Element made, call_user_function("the function of scan", call, where));
    own_storage(state_);
    ++index_;
    item.own() = std::move(made);
    item.set_record(record);
    return true;
  }
  Result<void> restart(uint64_t pass) override {
    state_ = initial_;
    own_storage(state_);
    return OneInputStage::restart(pass);
  }
  Result<void> save(StateWriter& out) const override {
    std::string state;
    write_element(state_, state);
    if (state.size() > kStateBytesMax) {
      return failed_precondition("the state of scan takes " + std::to_string(state.size()) +
                                 " bytes, and a position has room for " + std::to_string(kStateBytesMax));
    }
    out.number(state.size());
    out.raw(state);
    return OneInputStage::save(out);
  }
  Result<void> load(StateReader& in) override {
    SHOAL_TRY(const int64_t size, in.count(kStateBytesMax));
    SHOAL_TRY(const std::string_view state, in.raw(size_t(size)));
    SHOAL_TRY(state_, read_element(state));
    return OneInputStage::load(in);
  }

 private:
  StageContext& context_;
  const Element& initial_;
  const ScanFn& fn_;
  Element state_;
};

class ScanNode final : public Node {
 public:
  ScanNode(NodePtr input, Element initial, ScanFn fn)
      : Node({std::move(input)}), initial_(std::move(initial)), fn_(std::move(fn)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<ScanStage>(context, std::move(stage), initial_, fn_);
  }
  std::string_view kind() const override { return "scan"; }
  bool calls_function() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(key, "scan"); }

 private:
  const Element initial_;
  const ScanFn fn_;
};

}  // namespace

NodePtr make_scan_node(NodePtr input, Element initial, ScanFn fn) {
  return std::make_shared<ScanNode>(std::move(input), std::move(initial), std::move(fn));
}

}  // namespace shoal::data
