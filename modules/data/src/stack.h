// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes one element whose rows are other elements, for batch, padded_batch, window and bucket_by_length.
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "item.h"
#include "padding.h"

namespace shoal::data {

/// Stacks `rows`, at least one, along a new first dimension. The result is written into the element that `item` owns, and
/// reuses its storage. `item` also learns which record of a file each row was read from. `padding` is null if all rows must
/// have equal shapes. InvalidArgument, beginning with `what` ("batch"), if the rows cannot be stacked.
Result<void> stack(std::string_view what, std::span<const Item> rows, const Padding* padding, BufferPool& pool, Item& item);

/// The memory of an element's values, without that of its texts' letters.
uint64_t bytes_of(const Item& item);

/// Makes the same batch as stack() with no padding. But it copies each element into the batch as soon as the element
/// arrives, so no element has to be stored until the batch is full.
///
///   SHOAL_TRY_VOID(filler.begin(first, rows_max, batch));
///   SHOAL_TRY_VOID(filler.add(next));  // For each element, the first one too.
///   filler.finish(batch);
class BatchFiller {
 public:
  explicit BatchFiller(BufferPool& pool) : pool_(pool) {}
  /// True if a batch of `rows_max` elements like `first` is small enough to allocate before its elements arrive.
  static bool is_small(const Item& first, int64_t rows_max);
  /// Begins a batch of up to `rows_max` elements like `first`. The batch is written into the element that `batch` owns.
  Result<void> begin(const Item& first, int64_t rows_max, Item& batch);
  /// Adds the next element. If `next` is the only owner of its texts, they are not copied: the batch takes them, and
  /// `next` gets old texts of the batch in exchange. InvalidArgument if `next` is not like the first element.
  Result<void> add(Item& next);
  /// Ends the batch, which then has one row for each element that was added.
  void finish(Item& batch);

 private:
  /// The tensor into which a column is copied.
  struct Target {
    Tensor* tensor = nullptr;
    std::byte* data = nullptr;
    std::string* texts = nullptr;
    size_t row_elements = 0, row_bytes = 0;
  };
  /// A row of the tensors in `rows_of_` that is still to be copied. `row` is its number in these tensors, `place` its
  /// number in the batch.
  struct WaitingRow {
    int64_t row = 0;
    size_t place = 0;
  };
  bool copy_whole(Item& next);
  static void copy_values(const std::byte* from, const Target& target, size_t row);
  void copy_waiting_rows();

  BufferPool& pool_;
  size_t features_ = 0;
  std::vector<Column> columns_;  // Names, types and shapes of an element. The names point into the batch.
  std::vector<Target> targets_;
  std::vector<RecordId> records_;  // For each element so far: from which record of which file it was read.
  const Rows* rows_of_ = nullptr;
  std::vector<WaitingRow> rows_;
};

}  // namespace shoal::data
