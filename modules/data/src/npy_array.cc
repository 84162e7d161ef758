// SPDX-License-Identifier: Apache-2.0
#include "npy_array.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "npy_elements.h"

namespace shoal::data {
namespace {

/// How many elements are decoded or encoded at once, so that the bytes of a file are never in memory as a whole.
constexpr size_t kNpyPiece = 8192;

/// Compares the size in the header with the limit and with what the file can hold, before memory is allocated.
Result<void> check_size(const NpyHeader& header, const ByteSource& source, uint64_t bytes_max) {
  const uint64_t memory = uint64_t(header.shape.elements()) * header.type.memory_bytes();
  if (memory > bytes_max || memory > std::numeric_limits<size_t>::max()) {
    return invalid_argument("its array of " + to_string(header.shape) + " takes " + std::to_string(memory) +
                            " bytes, which is over the limit of " + std::to_string(bytes_max) + " (NpyOptions::bytes_max)");
  }
  if (header.data_bytes() <= source.left_max()) return {};
  return data_loss("the file is truncated: its header promises " + std::to_string(header.data_bytes()) +
                   " bytes from offset " + std::to_string(header.bytes) + ", and there are at most " +
                   std::to_string(source.left_max()));
}

Result<void> read_elements(ByteSource& source, std::span<std::byte> out, uint64_t offset) {
  SHOAL_TRY(const size_t count, source.read(out));
  if (count == out.size()) return {};
  return data_loss("the file is truncated: it ends at byte " + std::to_string(offset + count) +
                   ", and a part of its array takes " + std::to_string(out.size()) + " bytes from offset " +
                   std::to_string(offset));
}

Result<void> expect_no_more(ByteSource& source, uint64_t offset) {
  std::array<std::byte, 1> extra{};
  SHOAL_TRY(const size_t count, source.read(extra));
  if (count == 0) return {};
  return data_loss("the file goes on behind its array, which ends at offset " + std::to_string(offset) +
                   "; it is damaged, or holds several arrays: save those by numpy.savez");
}

/// Finds where the elements of a file in Fortran's order (the first axis varies fastest) are in a tensor in C order.
class TransposedPlaces {
 public:
  explicit TransposedPlaces(const Shape& shape) : shape_(shape) {
    int64_t stride = 1;
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      strides_[size_t(axis)] = stride;
      stride *= shape[axis];
    }
  }
  size_t next() {
    const int64_t place = place_;
    for (int axis = 0; axis < shape_.rank(); ++axis) {
      int64_t& index = index_[size_t(axis)];
      place_ += strides_[size_t(axis)];
      if (++index < shape_[axis]) break;
      place_ -= strides_[size_t(axis)] * index;
      index = 0;
    }
    return size_t(place);
  }

 private:
  const Shape shape_;
  std::array<int64_t, Shape::kRankMax> strides_{}, index_{};
  int64_t place_ = 0;
};

/// Moves the first `count` elements of `from`, which are in Fortran's order (as the file has them), into `to`, which is in
/// C order. `places` gives the place of each element in `to`.
void scatter(Tensor& from, size_t count, TransposedPlaces& places, Tensor& to) {
  if (to.dtype() == DType::kString) {
    std::vector<std::string>&texts = from.mutable_strings(), &out = to.mutable_strings();
    for (size_t i = 0; i < count; ++i) out[places.next()].swap(texts[i]);
    return;
  }
  const size_t width = size_of(to.dtype());
  const std::byte* const in = from.view().data;
  std::byte* const out = to.mutable_view().data;
  for (size_t i = 0; i < count; ++i) std::memcpy(out + places.next() * width, in + i * width, width);
}

/// Reads all elements in pieces and decodes each piece. If the file is in Fortran's order, also moves each element to its
/// place in C order.
Result<void> read_pieces(ByteSource& source, const NpyHeader& header, Tensor& tensor) {
  const auto elements = size_t(tensor.elements());
  const size_t width = header.type.width, piece_elements = std::min(elements, std::max<size_t>(1, kNpyPiece * 4 / width));
  std::vector<std::byte> bytes(piece_elements * width);
  TransposedPlaces places(header.shape);
  Tensor piece(tensor.dtype(), Shape{header.fortran_order ? int64_t(piece_elements) : 0});
  for (size_t first = 0; first < elements; first += piece_elements) {
    const size_t count = std::min(piece_elements, elements - first);
    const std::span<std::byte> part = std::span(bytes).first(count * width);
    SHOAL_TRY_VOID(read_elements(source, part, header.bytes + first * width));
    Tensor& target = header.fortran_order ? piece : tensor;
    SHOAL_TRY_VOID(
        decode_npy(header.type, part, {.first = first, .begin = header.bytes}, target, header.fortran_order ? 0 : first));
    if (header.fortran_order) scatter(piece, count, places, tensor);
  }
  return {};
}

std::string folder_of_file(const std::string& path) {
  const size_t slash = path.find_last_of('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

}  // namespace

Result<Tensor> read_npy_array(ByteSource& source, uint64_t bytes_max) {
  SHOAL_TRY(NpyHeader header, read_npy_header(source));
  if (header.shape.rank() < 2) header.fortran_order = false;  // With fewer than two axes, both orders are the same.
  SHOAL_TRY_VOID(check_size(header, source, bytes_max));
  Tensor tensor(header.type.dtype, header.shape);
  if (has_bytes_of_tensor(header.type) && !header.fortran_order) {
    SHOAL_TRY_VOID(read_elements(source, {tensor.mutable_view().data, tensor.bytes()}, header.bytes));
  } else {
    SHOAL_TRY_VOID(read_pieces(source, header, tensor));
  }
  SHOAL_TRY_VOID(expect_no_more(source, header.bytes + header.data_bytes()));
  return tensor;
}

NpyImage::NpyImage(const Tensor& tensor, const NpyType& type)
    : tensor_(&tensor), type_(type), header_(npy_header_text(type, tensor.shape())) {}

Result<NpyImage> NpyImage::of(const Tensor& tensor) {
  SHOAL_TRY(const NpyType type, npy_type_for(tensor));
  if (uint64_t(tensor.elements()) > uint64_t(INT64_MAX) / type.width) {
    return invalid_argument("the array would have more bytes than a file can: one of its strings has " +
                            std::to_string(type.width) + " bytes, and each takes as many");
  }
  return NpyImage(tensor, type);
}

Result<void> NpyImage::write(const Sink& sink) const {
  SHOAL_TRY_VOID(sink(std::as_bytes(std::span(header_))));
  const auto elements = size_t(tensor_->elements());
  const size_t at_once = std::max<size_t>(1, kNpyPiece * 4 / type_.width);
  std::string piece;
  for (size_t begin = 0; begin < elements; begin += at_once) {
    piece.clear();
    encode_npy(*tensor_, type_, begin, std::min(begin + at_once, elements), piece);
    SHOAL_TRY_VOID(sink(std::as_bytes(std::span(piece))));
  }
  return {};
}

Result<void> write_in_its_place(Storage& storage, const std::string& path,
                                const std::function<Result<void>(WritableFile& file)>& fill) {
  const std::string temporary = path + ".tmp-" + storage.unique_name();
  const auto write = [&]() -> Result<void> {
    SHOAL_TRY(const std::unique_ptr<WritableFile> file, storage.create(temporary));
    SHOAL_TRY_VOID(fill(*file));
    SHOAL_TRY_VOID(file->sync());
    return file->close();
  };
  Result<void> written = write();
  if (written) written = storage.rename(temporary, path);
  if (!written) {
    // If the removal fails, the temporary file stays. Only the error of the write is returned.
    static_cast<void>(storage.remove(temporary));
    return written;
  }
  return storage.sync_folder(folder_of_file(path));
}

Error in_npy_file(Error error, const std::string& path) {
  if (error.kind() == ErrorKind::kCancelled || error.message().starts_with(path)) return error;
  return std::move(error).with_context(path);
}

}  // namespace shoal::data
