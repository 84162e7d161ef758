// SPDX-License-Identifier: Apache-2.0
#include "evaluate/batches_with_rows.h"

#include "model/model.h"

namespace shoal {
namespace {

// After so many empty batches in a row the input counts as one without rows; a step would otherwise wait for ever.
constexpr int kEmptyInARowMax = 1'000'000;

class BatchesWithRows final : public data::Iterator {
 public:
  BatchesWithRows(Environment& env, std::unique_ptr<data::Iterator> all) : env_(env), all_(std::move(all)) {}

  Result<bool> next(data::Batch& batch) override {
    for (int empty = 0; empty < kEmptyInARowMax; ++empty) {
      SHOAL_TRY(const bool more, all_->next(batch));
      if (!more) return false;
      const Result<int64_t> rows = batch_size(batch);
      // `rows` is an error if the batch's tensors differ in their number of rows; input_types() refuses such a batch later.
      if (!rows || *rows > 0) return true;
      env_.log().warning_once("batch without rows",
                              "batch " + std::to_string(all_->ordinal()) +
                                  " of the input has no rows and is skipped; later ones are skipped without a warning");
    }
    return invalid_argument("the input gave " + std::to_string(kEmptyInARowMax) +
                            " batches without rows, one after another; look at its filter or generator");
  }
  std::string place_of_row(int64_t row) const override { return all_->place_of_row(row); }
  uint64_t ordinal() const override { return all_->ordinal(); }
  Result<data::Position> save() const override { return all_->save(); }
  Result<void> save_to(data::Position& position) const override { return all_->save_to(position); }
  Result<void> restore(const data::Position& position) override { return all_->restore(position); }
  Result<void> check(const data::Position& position) const override { return all_->check(position); }
  Result<int64_t> skip(int64_t count) override { return all_->skip(count); }
  data::InputStatistics statistics() const override { return all_->statistics(); }

 private:
  Environment& env_;
  const std::unique_ptr<data::Iterator> all_;
};

}  // namespace

Result<std::unique_ptr<data::Iterator>> iterate_batches_with_rows(Environment& env, const data::Dataset& dataset,
                                                                  const data::IterateOptions& options) {
  SHOAL_TRY(std::unique_ptr<data::Iterator> all, dataset.iterate(env, options));
  return std::make_unique<BatchesWithRows>(env, std::move(all));
}

}  // namespace shoal
