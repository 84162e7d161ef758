// SPDX-License-Identifier: Apache-2.0
// The rows of NPY files that are too large for memory, one row after another.
#include <array>
#include <optional>
#include <vector>

#include "npy_array.h"
#include "npy_elements.h"
#include "record_stage.h"
#include "shoal/data/npy.h"

namespace shoal::data {
namespace {

/// Lets read_npy_header() read from a file of records.
class HeaderBytes final : public ByteSource {
 public:
  explicit HeaderBytes(RecordFile& file) : file_(file) {}
  Result<size_t> read(std::span<std::byte> out) override { return file_.read_up_to(out); }
  uint64_t left_max() const override { return file_.left_max(); }

 private:
  RecordFile& file_;
};

/// The type and the shape that the rows of all files have.
struct RowType {
  std::string path;  ///< The file that was opened first. Errors name it if the rows of another file differ from its rows.
  DType dtype = DType::kFloat32;
  Shape shape;
  std::string text() const { return path + " has rows of " + std::string(to_string(dtype)) + " " + to_string(shape); }
};

class NpyRowsFormat {
 public:
  explicit NpyRowsFormat(const NpyRowsOptions& options) : options_(options) {}
  static RandomKey fold_parameters(RandomKey key) { return key; }

  Result<void> begin(RecordFile& file) {
    const Result<void> begun = read_header(file);
    return begun ? begun : in_npy_file(begun.error(), file.path());
  }
  Result<void> resume(RecordFile& file, uint64_t offset) {
    SHOAL_TRY_VOID(begin(file));
    const bool fits =
        offset >= header_.bytes && offset <= end_ && (offset - header_.bytes) % std::max<uint64_t>(1, row_bytes_) == 0;
    return fits ? file.go_to(offset) : damaged_position();
  }
  Result<bool> next(RecordFile& file, Element& element) {
    SHOAL_TRY(const bool more, begin_row(file));
    if (!more) return false;
    const uint64_t offset = file.offset();
    Tensor& row = row_of(element);
    const bool direct = has_bytes_of_tensor(header_.type);
    bytes_.resize(direct ? 0 : size_t(row_bytes_));
    const std::span<std::byte> out = direct ? std::span(row.mutable_view().data, row.bytes()) : std::span(bytes_);
    SHOAL_TRY(const bool there, file.read({reinterpret_cast<char*>(out.data()), out.size()}, "a row"));
    if (!there) return file.cut("its array");
    if (direct) return true;
    const NpyPlace place{.first = (offset - header_.bytes) / header_.type.width, .begin = header_.bytes};
    if (const auto decoded = decode_npy(header_.type, bytes_, place, row, 0); !decoded)
      return file.damaged(decoded.error().message());
    return true;
  }
  Result<bool> skip(RecordFile& file) {
    SHOAL_TRY(const bool more, begin_row(file));
    if (!more) return false;
    SHOAL_TRY(const bool there, file.skip(row_bytes_, "a row"));
    return there ? Result<bool>(true) : file.cut("its array");
  }

 private:
  Result<void> read_header(RecordFile& file) {
    HeaderBytes source(file);
    SHOAL_TRY(header_, read_npy_header(source));
    const int rank = header_.shape.rank();
    if (rank == 0) return failed_precondition("the array is a scalar and has no rows; read it by read_npy()");
    if (header_.fortran_order && rank > 1) {
      return failed_precondition(
          "the array is in Fortran's order, in which the elements of a row do not lie together; save it as "
          "numpy.ascontiguousarray(array), or read it as a whole by read_npy()");
    }
    const RowType type{file.path(), header_.type.dtype, Shape(header_.shape.dims().subspan(1))};
    SHOAL_TRY_VOID(check_type(type));
    const auto elements = uint64_t(type.shape.elements());
    if (elements == 0 && header_.shape[0] > 0)
      return failed_precondition("its rows have no elements, by their shape " + to_string(type.shape));
    const uint64_t limit = std::min<uint64_t>(uint64_t(options_.row_bytes_max), SIZE_MAX / 2);
    if (elements > limit / header_.type.memory_bytes()) {
      return data_loss("a row of the shape " + to_string(type.shape) + " takes more bytes than row_bytes_max, " +
                       std::to_string(options_.row_bytes_max));
    }
    row_bytes_ = elements * header_.type.width;
    end_ = header_.bytes + header_.data_bytes();
    return check_length(file);
  }
  Result<void> check_type(const RowType& type) {
    if (!first_) first_ = type;
    if (type.dtype == first_->dtype && type.shape == first_->shape) return {};
    return invalid_argument(type.text() + ", and " + first_->text() + "; give npy_rows files whose rows are alike");
  }
  /// If the length of the file is known, damage is reported before the first row.
  Result<void> check_length(const RecordFile& file) const {
    const uint64_t left = file.left_max(), promised = header_.data_bytes();
    if (promised > left || (promised < left && file.knows_its_end())) {
      return data_loss("the header promises " + std::to_string(promised) + " bytes of elements from offset " +
                       std::to_string(header_.bytes) + ", and there are " + (file.knows_its_end() ? "" : "at most ") +
                       std::to_string(left) +
                       (promised > left ? ": the file is truncated" : ": it goes on behind its array"));
    }
    return {};
  }
  /// Begins the next row; false behind the last one.
  Result<bool> begin_row(RecordFile& file) const {
    file.begin_record();
    if (file.offset() < end_) return true;
    std::array<std::byte, 1> extra{};
    SHOAL_TRY(const size_t count, file.read_up_to(extra));
    if (count == 0) return false;
    return data_loss(file.path() + ": the file goes on behind its array, which ends at offset " + std::to_string(end_));
  }
  /// Returns the only tensor of `element`, whose storage is reused.
  Tensor& row_of(Element& element) const {
    if (!element.features.is_single()) element.features = TensorMap(Tensor());
    element.labels = TensorMap();
    Tensor& row = *element.features.find("");
    if (row.dtype() != first_->dtype || !(row.shape() == first_->shape) || !row.unique())
      row = Tensor(first_->dtype, first_->shape);
    return row;
  }

  NpyRowsOptions options_;
  NpyHeader header_;  // The header of the open file.
  uint64_t row_bytes_ = 0, end_ = 0;
  std::optional<RowType> first_;
  std::vector<std::byte> bytes_;
};

}  // namespace

NodePtr make_npy_rows_node(std::vector<std::string> paths, const NpyRowsOptions& options) {
  return std::make_shared<RecordNode<NpyRowsFormat>>(std::move(paths), NpyRowsFormat(options), "npy_rows");
}

}  // namespace shoal::data
