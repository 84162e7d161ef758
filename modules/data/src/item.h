// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What flows between stages: an element of its own, or a reference to one that is copied only where it is needed. So a
/// shuffle of rows moves 96 bytes per example, and batch copies each row once, from the source into the batch.
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/buffer.h"
#include "shoal/base/result.h"
#include "shoal/data/element.h"

namespace shoal::data {

/// One tensor of an element, or one row of one: where it is and what it is.
struct Column {
  const std::string* name = nullptr;
  DType dtype = DType::kFloat32;
  Shape shape;
  const std::byte* data = nullptr;       ///< Set unless dtype is kString.
  const std::string* strings = nullptr;  ///< Set if dtype is kString.
};

/// Tensors seen as rows. Immutable. A node of the dataset owns it, and so it outlives all stages and items of an iterator, which
/// holds the nodes. Items therefore refer to it without a share of it: counting shares would cost a row of a source more than its
/// copy into a batch.
class Rows {
 public:
  /// Every tensor has a first dimension, all of one size. There is at least one.
  explicit Rows(Element tensors);
  Rows(const Rows&) = delete;
  Rows& operator=(const Rows&) = delete;
  int64_t count() const { return count_; }
  size_t features() const { return tensors_.features.size(); }
  size_t columns() const { return columns_.size(); }
  /// Features first, then labels.
  Column column(size_t index, int64_t row) const;
  /// Where the values of a row lie. The column is not one of strings.
  const std::byte* address(size_t index, int64_t row) const {
    return columns_[index].data + size_t(row) * row_bytes_[index];
  }
  /// The same for a column of strings.
  const std::string* texts(size_t index, int64_t row) const {
    return columns_[index].strings + size_t(row) * row_strings_[index];
  }
  const Element& tensors() const { return tensors_; }

 private:
  Element tensors_;
  std::vector<Column> columns_;  // The columns of row 0.
  std::vector<size_t> row_bytes_, row_strings_;
  int64_t count_;
};

/// InvalidArgument unless `tensors` can be a Rows.
Result<void> check_rows(const Element& tensors);

/// A record of a file, as a number that StageContext::place_of() turns into words; 0: no record of a file is known.
using RecordId = uint64_t;

/// An element and the records of files that it was read from.
struct Held {
  Element element = {};
  RecordId record = 0;  ///< The record that the element as a whole comes from.
  /// The records that the rows of a batch come from. Null or empty: they are not known.
  std::unique_ptr<std::vector<RecordId>> rows = nullptr;

  void forget_records() {
    record = 0;
    if (rows) rows->clear();
  }
};

class Item {
 public:
  void refer(const Rows& rows, int64_t row) { rows_ = &rows, row_ = row, shared_ = nullptr; }
  /// Refers to an element that other items may refer to as well. The item keeps the element alive: the stage that made it may drop
  /// it (a cache whose pass is broken off, in a repeat) while a batch or a shuffle further on still holds the item.
  void refer(std::shared_ptr<const Held> shared) { rows_ = nullptr, shared_ = std::move(shared); }
  /// The item's own element, to be filled; its storage may be reused. It comes from no record until set_record() says so.
  Element& own() { return rows_ = nullptr, shared_ = nullptr, held_.forget_records(), held_.element; }

  /// The record that the element comes from.
  RecordId record() const { return rows_ ? 0 : held().record; }
  /// The record that row `row` of a batch comes from.
  RecordId record_of_row(int64_t row) const;
  /// The row of the tensors that the item refers to, as those of from_tensor_slices do; -1: it refers to none.
  int64_t row_of_tensors() const { return rows_ ? row_ : -1; }
  bool has_records() const { return !rows_ && (held().record != 0 || (held().rows && !held().rows->empty())); }
  /// Sets the record of the item's own element.
  void set_record(RecordId record) { held_.record = record; }
  /// Sets the records of the item's own element, a batch of `items`; none if the items come from no records.
  void set_records_of_rows(std::span<const Item> items);
  /// Sets the record of each row of the item's own element.
  void set_records_of_rows(std::span<const RecordId> records);
  /// Gives the item's own element the records of `other`.
  void take_records(const Item& other);

  size_t features() const { return rows_ ? rows_->features() : element().features.size(); }
  size_t columns() const;
  Column column(size_t index) const;
  /// The tensors that the item refers to a row of; null: it refers to none.
  const Rows* rows() const { return rows_; }
  /// The element that the item owns or refers to as a whole; rows() is null.
  const Element& whole() const { return element(); }
  /// The element that belongs to the item alone, if it has one; else null.
  Element* owned() { return rows_ || shared_ ? nullptr : &held_.element; }
  /// True if both have the same names, types and shapes without looking.
  bool alike(const Item& other) const { return rows_ && rows_ == other.rows_; }

  /// Makes the item own its element, alone: copies what it refers to, into storage of its own that nobody else holds.
  Element& materialise(BufferPool& pool);
  /// Does as materialise(), for reading: copies only rows.
  const Element& readable(BufferPool& pool);
  /// Moves the element out, with its records, for several items to refer to.
  std::shared_ptr<const Held> share(BufferPool& pool);

 private:
  const Held& held() const { return shared_ ? *shared_ : held_; }
  const Element& element() const { return held().element; }

  const Rows* rows_ = nullptr;
  std::shared_ptr<const Held> shared_;
  int64_t row_ = 0;
  Held held_;
};

/// Whether two names are equal, for loops over the columns of each element: most names are short, and a call would take
/// longer than to compare them.
inline bool same_name(const std::string& a, const std::string& b) {
  constexpr size_t kShort = 8;
  if (a.size() != b.size()) return false;
  if (a.size() > kShort) return a == b;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] != b[i]) return false;
  }
  return true;
}

/// Gives `map` tensors of these columns' names; each is then made ready by ready_tensor().
void ready_names(TensorMap& map, const Item& like, size_t first, size_t count);
/// The same for tensors of `names`, which are in byte order. A map that has these names stays as it is.
void ready_names(TensorMap& map, const std::vector<std::string>& names);
/// A tensor that may be written, of this type and shape: `tensor` itself if it is one, else new from `pool`.
void ready_tensor(Tensor& tensor, DType dtype, const Shape& shape, BufferPool& pool);
/// A tensor of this type and shape, whose memory is from `pool`.
Tensor new_tensor(DType dtype, const Shape& shape, BufferPool& pool);
/// Copies `column` into row `row` of `target`, whose rows have its type and shape.
void copy_row(const Column& column, Tensor& target, int64_t row);

}  // namespace shoal::data
