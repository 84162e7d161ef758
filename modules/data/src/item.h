// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A stage passes Items to the next: each is an element, or a reference to an element that is stored elsewhere and copied
/// only if needed. So a shuffle of rows moves 96 bytes per example, and batch copies each row once, from the source into
/// the batch.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/result.h"
#include "shoal/data/element.h"

namespace shoal::data {

/// A description of one tensor of an element, or of one row: name, type, shape and where its values are.
struct Column {
  const std::string* name = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;
  const std::byte* data = nullptr;       ///< Set unless dtype is kString.
  const std::string* strings = nullptr;  ///< Set if dtype is kString.
};

/// Tensors, each divided into rows along its first axis. Immutable. An Item refers to a row without sharing ownership of
/// the tensors, since counting owners would cost more for each row than copying the row into a batch. This is safe because
/// a node of the dataset owns the tensors and lives as long as the iterator. (unbatch owns such tensors only for a while,
/// and copies their rows.)
class Rows {
 public:
  /// Every tensor must have a first dimension, equal for all. There must be at least one tensor.
  explicit Rows(Element tensors);
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  int64_t count() const { return count_; }
  size_t features() const { return tensors_.features.size(); }
  size_t columns() const { return columns_.size(); }
  /// Describes a tensor's row. Indices count features first, then labels.
  Column column(size_t index, int64_t row) const;
  /// Returns where the values of a row are. The column must not hold strings.
  const std::byte* address(size_t index, int64_t row) const {
    return columns_[index].data + size_t(row) * row_bytes_[index];
  }
  /// Returns where the strings of a row are, for a column of strings.
  const std::string* texts(size_t index, int64_t row) const {
    return columns_[index].strings + size_t(row) * row_strings_[index];
  }
  const Element& tensors() const { return tensors_; }

 private:
  Element tensors_;
  std::vector<Column> columns_;  // Row 0 of each tensor, from which column() finds the other rows.
  std::vector<size_t> row_bytes_, row_strings_;
  int64_t count_;
};

/// InvalidArgument unless a Rows can be made of `tensors`.
Result<void> check_rows(const Element& tensors);

/// The number of a record of a file (a line, for example). StageContext::place_of() turns it into a text for errors. 0: the
/// record is not known.
using RecordId = uint64_t;

/// An element and the records of files that it was read from.
struct Held {
  Element element = {};
  RecordId record = 0;  ///< The record of a file from which the whole element was read.
  /// For a batch: the record of a file from which each row was read. Null or empty: the records are not known.
  std::unique_ptr<std::vector<RecordId>> rows = nullptr;

  void forget_records() {
    record = 0;
    if (rows) rows->clear();
  }
};

class Item {
 public:
  void refer(const Rows& rows, int64_t row) { rows_ = &rows, row_ = row, shared_ = nullptr; }
  /// Refers to an element that other items may refer to as well, and keeps it alive: the stage that made the element may
  /// drop it (as cache() does when a pass ends early) while a later batch or shuffle still holds the item.
  void refer(std::shared_ptr<const Held> shared) { rows_ = nullptr, shared_ = std::move(shared); }
  /// Returns the element that the item owns, to be filled. Its old storage may be reused. The record of a file from
  /// which it was read counts as not known until set_record() is called.
  Element& own() { return rows_ = nullptr, shared_ = nullptr, held_.forget_records(), held_.element; }

  /// The record of a file from which the element was read; 0: it is not known.
  RecordId record() const { return rows_ ? 0 : held().record; }
  /// The record of a file from which row `row` of a batch was read; 0: it is not known.
  RecordId record_of_row(int64_t row) const;
  /// The row to which the item refers (from_tensor_slices makes such items); -1: it refers to no row.
  int64_t row_of_tensors() const { return rows_ ? row_ : -1; }
  bool has_records() const { return !rows_ && (held().record != 0 || (held().rows && !held().rows->empty())); }
  /// Stores which record of a file the element that the item owns was read from.
  void set_record(RecordId record) { held_.record = record; }
  /// For an item that owns a batch made of `items`: stores which record of a file each of them was read from. Stores
  /// nothing if that is unknown for all of them.
  void set_records_of_rows(std::span<const Item> items);
  /// For an item that owns a batch: stores which record of a file each row was read from.
  void set_records_of_rows(std::span<const RecordId> records);
  /// Stores that the element of this item was read from the same file records as the element of `other`.
  void take_records(const Item& other);

  size_t features() const { return rows_ ? rows_->features() : element().features.size(); }
  size_t columns() const;
  Column column(size_t index) const;
  /// The tensors that have the row to which the item refers; null: the item refers to no row.
  const Rows* rows() const { return rows_; }
  /// The element that the item owns or refers to as a whole. Call it only if rows() is null.
  const Element& whole() const { return element(); }
  /// The element that belongs to the item alone, if it has one; else null.
  Element* owned() { return rows_ || shared_ ? nullptr : &held_.element; }
  /// True if both are rows of the same tensors, and so have the same names, types and shapes.
  bool alike(const Item& other) const { return rows_ && rows_ == other.rows_; }

  /// Makes the item the only owner of its element: an element that it only refers to is copied into its own storage.
  Element& materialise(BufferPool& pool);
  /// Returns the item's element for reading. If the item only refers to a row of tensors, the row is copied as by
  /// materialise(); an element that other items share is not copied.
  const Element& readable(BufferPool& pool);
  /// Moves the element out of the item, so that several items can refer to it. The numbers of the file records that the
  /// element was read from move with it.
  std::shared_ptr<const Held> share(BufferPool& pool);

 private:
  const Held& held() const { return shared_ ? *shared_ : held_; }
  const Element& element() const { return held().element; }

  const Rows* rows_ = nullptr;
  std::shared_ptr<const Held> shared_;
  int64_t row_ = 0;
  Held held_;
};

/// Whether two names are equal, for loops over an element's columns: most names are short, and a function call would take
/// longer than the comparison.
inline bool same_name(const std::string& a, const std::string& b) {
  constexpr size_t kShort = 8;
  if (a.size() != b.size()) return false;
  if (a.size() > kShort) return a == b;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Gives `map` one tensor for each of the `count` columns of `like` from column `first` on, with the names of these
/// columns. The caller then gives each tensor its type and shape by ready_tensor().
void ready_names(TensorMap& map, const Item& like, size_t first, size_t count);
/// Gives `map` tensors called `names`, which are in byte order. A map that has these names already stays as it is.
void ready_names(TensorMap& map, const std::vector<std::string>& names);
/// Makes `tensor` a writable tensor of this type and shape: keeps the present one if it fits, else takes one from `pool`.
void ready_tensor(Tensor& tensor, DType dtype, const Shape& shape, BufferPool& pool);
/// A tensor of this type and shape, whose memory is from `pool`.
Tensor new_tensor(DType dtype, const Shape& shape, BufferPool& pool);
/// Copies `column` into row `row` of `target`, whose rows have its type and shape.
void copy_row(const Column& column, Tensor& target, int64_t row);

}  // namespace shoal::data
