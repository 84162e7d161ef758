// SPDX-License-Identifier: Apache-2.0
// bucket_by_length: elements wait in the bucket of their length until there are enough of them for a batch.
//
// The elements in buckets are not saved. What save() writes is the input's position before the oldest waiting element (the
// anchor), the number of elements taken from the input since then, and the number of elements that wait in each bucket. A
// resume reads the elements since the anchor again, and drops the oldest ones of a bucket if it has too many.
#include <algorithm>
#include <deque>

#include "nodes.h"
#include "stack.h"

namespace shoal::data {
namespace {

/// An anchor is a saved position of the input (see above). At least this many inputs lie between two anchors.
constexpr uint64_t kBucketAnchorDistance = 256;

class BucketStage final : public Stage {
 public:
  BucketStage(StageContext& context, std::unique_ptr<Stage> input, const LengthFn& length, const BucketOptions& options,
              const Padding& padding)
      : context_(context),
        input_(std::move(input)),
        length_(length),
        options_(options),
        padding_(padding),
        buckets_(options.boundaries.size() + 1) {}

  Result<bool> next(Item& item) override {
    if (!begun_) begin();
    while (!ended_) {
      SHOAL_TRY_VOID(check_stopping(context_));
      if (spare_.empty()) spare_.emplace_back();
      SHOAL_TRY(const bool more, input_->next(spare_.back().item));
      if (!more) {
        ended_ = true;
        break;
      }
      SHOAL_TRY(Bucket* const bucket, put(std::move(spare_.back())));
      spare_.pop_back();
      const size_t index = size_t(bucket - buckets_.data());
      if (int64_t(bucket->size()) == size_of_batch(index)) return hand_out(*bucket, item);
    }
    for (Bucket& bucket : buckets_) {
      if (bucket.empty()) continue;
      if (!options_.padding.drop_remainder || context_.types_only) return hand_out(bucket, item);
      bucket.clear();
    }
    return false;
  }

  Result<void> restart(uint64_t pass) override {
    reset();
    resumed_ = false;
    return input_->restart(pass);
  }

  Result<void> save(StateWriter& out) const override {
    out.flag(begun_);
    out.flag(ended_);
    out.number(taken_ - anchor_.taken);
    for (const Bucket& bucket : buckets_) out.number(bucket.size());
    if (!begun_) return input_->save(out);
    if (unsaved_) return *unsaved_;
    out.raw(anchor_.state);
    return {};
  }

  Result<void> load(StateReader& in) override {
    reset();
    resumed_ = true;
    SHOAL_TRY(const bool begun, in.flag());
    SHOAL_TRY(const bool ended, in.flag());
    SHOAL_TRY(const int64_t since, in.count());
    std::vector<int64_t> waiting(buckets_.size());
    for (size_t i = 0; i < buckets_.size(); ++i) {
      SHOAL_TRY(waiting[i], in.count(size_of_batch(i) - 1));
    }
    SHOAL_TRY_VOID(input_->load(in));
    if (!begun) return since == 0 && !ended ? Result<void>() : damaged_position();
    begin();
    for (int64_t i = 0; i < since; ++i) {
      SHOAL_TRY_VOID(check_stopping(context_));
      Slot slot;
      SHOAL_TRY(const bool more, input_->next(slot.item));
      if (!more) return damaged_position();
      SHOAL_TRY(Bucket* const bucket, put(std::move(slot)));
      if (int64_t(bucket->size()) > waiting[size_t(bucket - buckets_.data())]) bucket->pop_front();
    }
    for (size_t i = 0; i < buckets_.size(); ++i) {
      if (int64_t(buckets_[i].size()) != waiting[i]) return damaged_position();
    }
    if (ended) {  // The input had ended. Reads past its end again: only then is a cache() before this stage complete.
      Item none;
      SHOAL_TRY(const bool more, input_->next(none));
      if (more) return damaged_position();
    }
    ended_ = ended;
    return {};
  }

 private:
  struct Slot {
    Item item;
    uint64_t number = 0;  ///< The element's number among the inputs of this pass.
  };
  using Bucket = std::deque<Slot>;
  struct Anchor {
    uint64_t taken = 0;  ///< How many inputs had been taken when `state`, the input's position, was saved.
    std::string state;
  };

  int64_t size_of_batch(size_t bucket) const {
    return options_.batch_sizes.size() == 1 ? options_.batch_sizes[0] : options_.batch_sizes[bucket];
  }

  void begin() {
    begun_ = true;
    remember(anchor_);
    next_anchor_ = {};
  }

  void remember(Anchor& anchor) {
    anchor.taken = taken_;
    anchor.state.clear();
    StateWriter writer(anchor.state);
    if (Result<void> saved = input_->save(writer); !saved) unsaved_ = std::move(saved).error();
  }

  /// Puts the element into the bucket of its length, and returns that bucket.
  Result<Bucket*> put(Slot slot) {
    const int64_t row = slot.item.row_of_tensors();
    const Element& element = slot.item.readable(context_.env.buffers());
    const ElementNumber number{int64_t(taken_), resumed_};
    const auto where = [&] { return place_of_element(context_, slot.item.record(), row, "bucket_by_length", number); };
    const auto call = [&] { return length_(element); };
    SHOAL_TRY(const int64_t length, call_user_function("the function of bucket_by_length", call, where));
    const auto above = std::ranges::upper_bound(options_.boundaries, length);
    Bucket& bucket = buckets_[size_t(above - options_.boundaries.begin())];
    slot.number = taken_++;
    bucket.push_back(std::move(slot));
    return &bucket;
  }

  Result<bool> hand_out(Bucket& bucket, Item& item) {
    rows_.resize(std::min(bucket.size(), size_t(size_of_batch(size_t(&bucket - buckets_.data())))));
    for (size_t i = 0; i < rows_.size(); ++i) std::swap(rows_[i], bucket[i].item);
    SHOAL_TRY_VOID(stack("bucket_by_length", rows_, &padding_, context_.env.buffers(), item));
    for (size_t i = 0; i < rows_.size(); ++i) {
      std::swap(rows_[i], bucket.front().item);
      spare_.push_back(std::move(bucket.front()));
      bucket.pop_front();
    }
    move_anchor();
    return true;
  }

  /// Moves the anchor, the position from which a resume reads the input, up to the oldest waiting element. Otherwise a
  /// resume would replay an endless input from its beginning.
  void move_anchor() {
    if (unsaved_ || ended_ || taken_ - anchor_.taken < kBucketAnchorDistance) return;
    uint64_t oldest = taken_;
    for (const Bucket& bucket : buckets_) {
      if (!bucket.empty()) oldest = std::min(oldest, bucket.front().number);
    }
    if (oldest == taken_) return remember(anchor_), void(next_anchor_ = {});
    if (!next_anchor_.state.empty() && next_anchor_.taken <= oldest) {
      std::swap(anchor_, next_anchor_);
      next_anchor_ = {};
    }
    if (next_anchor_.state.empty()) remember(next_anchor_);
  }

  void reset() {
    for (Bucket& bucket : buckets_) bucket.clear();
    begun_ = ended_ = false;
    taken_ = 0;
    anchor_ = next_anchor_ = {};
    unsaved_.reset();
  }

  StageContext& context_;
  std::unique_ptr<Stage> input_;
  const LengthFn& length_;
  const BucketOptions& options_;
  const Padding& padding_;
  std::vector<Bucket> buckets_;
  std::vector<Slot> spare_;  // Slots that hold no element now. Their storage is used for the next elements.
  std::vector<Item> rows_;
  bool begun_ = false, ended_ = false, resumed_ = false;
  uint64_t taken_ = 0;  // How many inputs this pass has taken; after load(), counted from the loaded input position.
  Anchor anchor_, next_anchor_;
  std::optional<Error> unsaved_;
};

class BucketNode final : public Node {
 public:
  BucketNode(NodePtr input, LengthFn length, BucketOptions options)
      : Node({std::move(input)}), length_(std::move(length)), options_(std::move(options)), padding_(options_.padding) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    SHOAL_TRY(std::unique_ptr<Stage> stage, input().stage(context));
    return std::make_unique<BucketStage>(context, std::move(stage), length_, options_, padding_);
  }
  std::string_view kind() const override { return "bucket_by_length"; }
  bool calls_function() const override { return true; }
  bool chooses_by_value() const override { return true; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_in(fold_in(key, "bucket by length"), options_.padding.drop_remainder);
    for (const int64_t boundary : options_.boundaries) key = fold_in(key, uint64_t(boundary));
    key = fold_in(key, "sizes");
    for (const int64_t size : options_.batch_sizes) key = fold_in(key, uint64_t(size));
    return padding_.fold_parameters(key);
  }
  std::optional<int64_t> cardinality() const override {
    return input().cardinality() == 0 ? std::optional<int64_t>(0) : std::nullopt;
  }

 private:
  const LengthFn length_;
  const BucketOptions options_;
  const Padding padding_;
};

}  // namespace

NodePtr make_bucket_node(NodePtr input, LengthFn length, BucketOptions options) {
  return std::make_shared<BucketNode>(std::move(input), std::move(length), std::move(options));
}

}  // namespace shoal::data
