// SPDX-License-Identifier: Apache-2.0
// Sources whose elements are made by a function of the user.
#include "nodes.h"

namespace shoal::data {
namespace {

class GeneratorNode final : public Node {
 public:
  GeneratorNode(OpenGenerator open_at, bool resumable, GeneratorOptions options)
      : open_at_(std::move(open_at)), resumable_(resumable), options_(options) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<GeneratorStage>(*this, context);
  }
  std::string_view kind() const override { return "generator"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_in(fold_in(key, "generator"), resumable_); }
  std::optional<bool> is_finite() const override { return std::nullopt; }
  std::optional<int64_t> cardinality() const override { return std::nullopt; }
  bool depends_on_trainer() const override { return options_.depends_on_trainer; }

 private:
  class GeneratorStage final : public Stage {
   public:
    GeneratorStage(const GeneratorNode& node, const StageContext& context) : node_(node), context_(context) {}

    Result<bool> next(Item& item) override {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (ended_) return false;
      if (!generate_) SHOAL_TRY_VOID(open());
      const auto generate = [&] { return generate_(item.own()); };
      SHOAL_TRY(const bool is_more,
                call_user_function("the generator of from_generator", generate, [this] { return place(); }));
      if (!is_more) {
        ended_ = true;
        return false;
      }
      ++index_;
      return true;
    }
    Result<void> restart(uint64_t) override {
      generate_ = nullptr;
      index_ = 0;
      ended_ = false;
      return {};
    }
    Result<void> save(StateWriter& out) const override {
      if (!node_.resumable_) {
        return failed_precondition(
            "a from_generator source cannot say where it is; use from_resumable_generator for input that continues "
            "after a restart");
      }
      out.number(uint64_t(index_));
      out.flag(ended_);
      return {};
    }
    Result<void> load(StateReader& in) override {
      if (!node_.resumable_) return failed_precondition("a from_generator source cannot be resumed");
      SHOAL_TRY(index_, in.count());
      SHOAL_TRY(ended_, in.flag());
      generate_ = nullptr;
      return {};
    }

   private:
    std::string place() const { return "element " + std::to_string(index_) + " (counted from 0)"; }

    Result<void> open() {
      const auto open_at = [this]() -> Result<GeneratorFn> { return node_.open_at_(index_, context_.stop); };
      SHOAL_TRY(generate_,
                call_user_function("opening the generator of from_generator", open_at, [this] { return place(); }));
      if (!generate_) return invalid_argument("from_generator: the function that opens it returned an empty function");
      return {};
    }

    const GeneratorNode& node_;
    const StageContext& context_;
    GeneratorFn generate_;
    int64_t index_ = 0;
    bool ended_ = false;
  };

  OpenGenerator open_at_;
  bool resumable_;
  GeneratorOptions options_;
};

}  // namespace

NodePtr make_generator_node(OpenGenerator open_at, bool resumable, GeneratorOptions options) {
  return std::make_shared<GeneratorNode>(std::move(open_at), resumable, options);
}

}  // namespace shoal::data
