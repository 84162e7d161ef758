// SPDX-License-Identifier: Apache-2.0
// ignore_errors: leaves out the elements for which the function of the map or filter before it fails.
#include "nodes.h"
#include "one_input_stage.h"

namespace shoal::data {
namespace {

/// index_ counts the elements that were left out in this pass. A count over all passes would contain those of elements that
/// a later stage read ahead and nobody took.
class IgnoreErrorsStage final : public OneInputStage {
 public:
  IgnoreErrorsStage(StageContext& context, std::unique_ptr<Stage> input, int64_t count_max)
      : OneInputStage(std::move(input)), context_(context), count_max_(count_max) {}

  Result<bool> next(Item& item) override {
    while (true) {
      SHOAL_TRY_VOID(check_stopping(context_));
      Result<bool> more = input_->next(item);
      if (more && !*more) tell();
      if (more || !input_->fails_for_one_element() || more.error().kind() == ErrorKind::kCancelled) return more;
      if (count_max_ >= 0 && index_ == count_max_) {
        return std::move(more).error().with_context("ignore_errors: " + std::to_string(index_) +
                                                    " elements were left out in this pass, as many as may be");
      }
      ++index_;
      if (told_ == 0) context_.env.log().warning("ignore_errors leaves out an element: " + more.error().message());
      told_ += told_ == 0;
    }
  }

 private:
  /// At the end of a pass, warns how many elements were left out in it, if they are more than in each pass before.
  void tell() {
    if (index_ <= told_) return;
    context_.env.log().warning("ignore_errors has left out " + std::to_string(index_) + " elements in this pass");
    told_ = index_;
  }

  StageContext& context_;
  const int64_t count_max_;
  int64_t told_ = 0;  ///< The largest number of elements in a pass that a warning has told, so that not every pass warns.
};

class IgnoreErrorsNode final : public Node {
 public:
  IgnoreErrorsNode(NodePtr input, int64_t count_max) : Node({std::move(input)}), count_max_(count_max) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<IgnoreErrorsStage>(context, std::move(stage), count_max_);
  }
  std::string_view kind() const override { return "ignore_errors"; }
  bool chooses_by_value() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    return fold_in(fold_in(key, "ignore errors"), uint64_t(count_max_));
  }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const int64_t count_max_;
};

}  // namespace

NodePtr make_ignore_errors_node(NodePtr input, int64_t count_max) {
  return std::make_shared<IgnoreErrorsNode>(std::move(input), count_max);
}

}  // namespace shoal::data
