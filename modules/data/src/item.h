#pragma once
/// What flows between stages: an element of its own, or a reference to one that is copied only where it is needed. So a
/// shuffle of rows moves 80 bytes per example, and batch copies each row once, from the source into the batch.
#include <cstdint>
#include <memory>
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
  const Element& tensors() const { return tensors_; }

 private:
  Element tensors_;
  std::vector<Column> columns_;  // The columns of row 0.
  std::vector<size_t> row_bytes_, row_strings_;
  int64_t count_;
};

/// InvalidArgument unless `tensors` can be a Rows.
Result<void> check_rows(const Element& tensors);

class Item {
 public:
  void refer(const Rows& rows, int64_t row) { rows_ = &rows, row_ = row, shared_ = nullptr; }
  /// Refers to an element that other items may refer to as well. The item keeps the element alive: the stage that made it may drop
  /// it (a cache whose pass is broken off, in a repeat) while a batch or a shuffle further on still holds the item.
  void refer(std::shared_ptr<const Element> shared) { rows_ = nullptr, shared_ = std::move(shared); }
  /// The item's own element, to be filled; its storage may be reused.
  Element& own() { return rows_ = nullptr, shared_ = nullptr, element_; }

  size_t features() const { return rows_ ? rows_->features() : element().features.size(); }
  size_t columns() const;
  Column column(size_t index) const;
  /// True if both have the same names, types and shapes without looking.
  bool alike(const Item& other) const { return rows_ && rows_ == other.rows_; }

  /// Makes the item own its element, alone: copies what it refers to, into storage of its own that nobody else holds.
  Element& materialise(BufferPool& pool);
  /// Does as materialise(), for reading: copies only rows.
  const Element& readable(BufferPool& pool);

 private:
  const Element& element() const { return shared_ ? *shared_ : element_; }

  const Rows* rows_ = nullptr;
  std::shared_ptr<const Element> shared_;
  int64_t row_ = 0;
  Element element_;
};

/// Gives `map` tensors of these columns' names; each is then made ready by ready_tensor().
void ready_names(TensorMap& map, const Item& like, size_t first, size_t count);
/// A tensor that may be written, of this type and shape: `tensor` itself if it is one, else new from `pool`.
void ready_tensor(Tensor& tensor, DType dtype, const Shape& shape, BufferPool& pool);
/// Copies `column` into row `row` of `target`, whose rows have its type and shape.
void copy_row(const Column& column, Tensor& target, int64_t row);

}  // namespace shoal::data
