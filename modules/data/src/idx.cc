// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/idx.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "byte_source.h"
#include "idx_array.h"
#include "no_text.h"

namespace shoal::data {
namespace {

enum class IdxType : uint8_t {
  kUInt8 = 0x08,
  kInt8 = 0x09,
  kInt16 = 0x0b,
  kInt32 = 0x0c,
  kFloat32 = 0x0d,
  kFloat64 = 0x0e
};

struct Header {
  IdxType type{};
  size_t width = 0;  ///< Bytes of one element in the file.
  DType dtype{};     ///< The type of the tensor.
  Shape shape;
  size_t bytes = 0;  ///< The size of the header itself.
};

/// Fills `out` from `source`. DataLoss, with the expected and the found size, if the file ends before `out` is full.
Result<void> read_exactly(ByteSource& source, std::span<std::byte> out, uint64_t offset, const std::string& what) {
  SHOAL_TRY(const size_t count, source.read(out));
  if (count == out.size()) return {};
  return data_loss("the file is truncated: " + what + " takes " + std::to_string(out.size()) + " bytes from offset " +
                   std::to_string(offset) + ", and there are " + std::to_string(count));
}

uint32_t big_endian(const std::byte* bytes) {
  return uint32_t(bytes[0]) << 24 | uint32_t(bytes[1]) << 16 | uint32_t(bytes[2]) << 8 | uint32_t(bytes[3]);
}

/// Returns the bytes per element in the file and the tensor's type; 0 for an unknown type.
std::pair<size_t, DType> element_of(IdxType type) {
  switch (type) {
    case IdxType::kUInt8: return {1, DType::kUInt8};
    case IdxType::kInt8: return {1, DType::kInt32};
    case IdxType::kInt16: return {2, DType::kInt32};
    case IdxType::kInt32: return {4, DType::kInt32};
    case IdxType::kFloat32: return {4, DType::kFloat32};
    case IdxType::kFloat64: return {8, DType::kFloat32};
  }
  return {0, DType::kUInt8};
}

/// Names the kind of a file that is no IDX file, if it is a known one. `magic` has the file's first bytes. Reads more bytes
/// from `source`, since some kinds cannot be told apart by so few.
std::optional<std::string> what_begins_with(std::span<const std::byte> magic, ByteSource& source) {
  std::string begin(512, '\0');
  std::memcpy(begin.data(), magic.data(), magic.size());
  const auto more = source.read(std::as_writable_bytes(std::span(begin)).subspan(magic.size()));
  begin.resize(magic.size() + (more ? *more : 0));
  return what_is_no_text(begin);
}

Result<Header> read_header(ByteSource& source) {
  std::array<std::byte, 4> magic{};
  SHOAL_TRY_VOID(read_exactly(source, magic, 0, "the IDX header"));
  Header header{.type = IdxType(magic[2])};
  std::tie(header.width, header.dtype) = element_of(header.type);
  const auto rank = size_t(magic[3]);
  if (magic[0] != std::byte(0) || magic[1] != std::byte(0) || header.width == 0) {
    if (const auto what = what_begins_with(magic, source)) return failed_precondition("the file " + *what);
    return data_loss("not an IDX file: its first four bytes (offset 0) are " + std::to_string(big_endian(magic.data())) +
                     ", expected 2048 to 4095 as in 2049 (labels) or 2051 (images)");
  }
  if (rank > size_t(Shape::kRankMax)) {
    return data_loss("bad IDX header: it has " + std::to_string(rank) + " dimensions (offset 3), at most " +
                     std::to_string(Shape::kRankMax) + " are possible");
  }
  std::array<std::byte, 4 * Shape::kRankMax> sizes{};
  SHOAL_TRY_VOID(read_exactly(source, std::span(sizes).first(4 * rank), 4, "the sizes in the IDX header"));
  std::array<int64_t, Shape::kRankMax> dims{};
  for (size_t i = 0; i < rank; ++i) dims[i] = big_endian(sizes.data() + 4 * i);
  Result<Shape> shape = Shape::checked(std::span<const int64_t>(dims.data(), rank));
  if (!shape) return data_loss("bad IDX header (offset 4): " + shape.error().message());
  header.shape = *shape;
  header.bytes = 4 + 4 * rank;
  return header;
}

/// Compares the size in the header with the limit and with what the file can hold, before memory is allocated.
Result<size_t> payload_bytes(const Header& header, const ByteSource& source, const IdxOptions& options) {
  const auto elements = uint64_t(header.shape.elements());
  const size_t widest = std::max(header.width, size_of(header.dtype));
  if (elements > options.bytes_max / widest || elements > std::numeric_limits<size_t>::max() / widest) {
    return invalid_argument("its tensor of " + to_string(header.shape) + " is over the limit of " +
                            std::to_string(options.bytes_max) + " bytes (IdxOptions::bytes_max)");
  }
  const uint64_t bytes = elements * header.width;
  if (bytes > source.left_max()) {
    return data_loss("the file is truncated: its header promises " + std::to_string(bytes) + " bytes from offset " +
                     std::to_string(header.bytes) + ", and there are at most " + std::to_string(source.left_max()));
  }
  return size_t(bytes);
}

Result<void> expect_end(ByteSource& source, uint64_t offset) {
  std::array<std::byte, 1> extra{};
  SHOAL_TRY(const size_t count, source.read(extra));
  if (count == 0) return {};
  return data_loss("the file goes on after its " + std::to_string(offset) +
                   " bytes; it is damaged, or its header is of another file");
}

template <class Wide>
Wide load_big_endian(const std::byte* bytes) {
  Wide value = 0;
  for (size_t i = 0; i < sizeof(Wide); ++i) value = Wide(uint64_t(value) << 8 | uint64_t(bytes[i]));
  return value;
}

int32_t to_int32(IdxType type, const std::byte* bytes) {
  switch (type) {
    case IdxType::kInt8: return int8_t(bytes[0]);
    case IdxType::kInt16: return int16_t(load_big_endian<uint16_t>(bytes));
    default: return int32_t(load_big_endian<uint32_t>(bytes));
  }
}

float to_float32(IdxType type, const std::byte* bytes) {
  if (type == IdxType::kFloat32) return std::bit_cast<float>(load_big_endian<uint32_t>(bytes));
  return float(std::bit_cast<double>(load_big_endian<uint64_t>(bytes)));
}

/// Reads types other than uint8 in pieces: the file's bytes are never in memory as a whole.
Result<void> read_converted(ByteSource& source, const Header& header, MutableTensorView out) {
  constexpr size_t kPiece = 8192;
  std::vector<std::byte> piece(kPiece * header.width);
  const auto elements = size_t(out.elements());
  for (size_t first = 0; first < elements; first += kPiece) {
    const size_t count = std::min(kPiece, elements - first);
    const auto bytes = std::span(piece).first(count * header.width);
    SHOAL_TRY_VOID(read_exactly(source, bytes, header.bytes + first * header.width,
                                "a part of the " + std::to_string(elements * header.width) + " bytes of elements"));
    for (size_t i = 0; i < count; ++i) {
      const std::byte* from = piece.data() + i * header.width;
      if (header.dtype == DType::kInt32) {
        out.as<int32_t>()[first + i] = to_int32(header.type, from);
      } else {
        out.as<float>()[first + i] = to_float32(header.type, from);
      }
    }
  }
  return {};
}

/// Puts the file's name before the error's message, unless the message begins with the name already.
Error in_file(Error error, const std::string& path) {
  if (error.message().starts_with(path)) return error;
  return std::move(error).with_context(path);
}

Tensor scaled_images(const Tensor& pixels) {
  const Shape& shape = pixels.shape();
  Tensor images(DType::kFloat32, Shape{shape[0], shape[1], shape[2], 1});
  const std::span<const uint8_t> from = pixels.as<uint8_t>();
  const std::span<float> to = images.mutable_as<float>();
  for (size_t i = 0; i < from.size(); ++i) to[i] = float(from[i]) / 255.0f;
  return images;
}

Tensor wide_labels(const Tensor& bytes) {
  Tensor labels(DType::kInt64, bytes.shape());
  const std::span<const uint8_t> from = bytes.as<uint8_t>();
  std::copy(from.begin(), from.end(), labels.mutable_as<int64_t>().begin());
  return labels;
}

Result<void> check_kind(const Tensor& tensor, int rank, const std::string& path, const std::string& what) {
  if (tensor.dtype() == DType::kUInt8 && tensor.shape().rank() == rank) return {};
  return data_loss(path + ": expected " + what + ", found " + std::string(to_string(tensor.dtype())) + " " +
                   to_string(tensor.shape()));
}

}  // namespace

Result<Tensor> read_idx_array(ByteSource& source, const IdxOptions& options) {
  SHOAL_TRY(const Header header, read_header(source));
  SHOAL_TRY(const size_t bytes, payload_bytes(header, source, options));
  Tensor tensor(header.dtype, header.shape);
  if (header.type == IdxType::kUInt8) {
    const auto out = std::span(tensor.mutable_view().data, bytes);
    SHOAL_TRY_VOID(read_exactly(source, out, header.bytes, "the tensor of " + to_string(header.shape)));
  } else {
    SHOAL_TRY_VOID(read_converted(source, header, tensor.mutable_view()));
  }
  SHOAL_TRY_VOID(expect_end(source, header.bytes + bytes));
  return tensor;
}

Result<Tensor> read_idx(Storage& storage, const std::string& path, const IdxOptions& options) {
  Result<std::unique_ptr<ByteSource>> source = open_bytes(storage, path, options.stop);
  if (!source) return in_file(std::move(source).error(), path);
  Result<Tensor> tensor = read_idx_array(**source, options);
  if (!tensor) return in_file(std::move(tensor).error(), path);
  return tensor;
}

Result<ImagesAndLabels> read_idx_images_labels(Storage& storage, const std::string& images_path,
                                               const std::string& labels_path, const IdxOptions& options) {
  SHOAL_TRY(const Tensor labels, read_idx(storage, labels_path, options));
  SHOAL_TRY_VOID(check_kind(labels, 1, labels_path, "labels, uint8 [count]"));
  SHOAL_TRY(const Tensor pixels, read_idx(storage, images_path, options));
  SHOAL_TRY_VOID(check_kind(pixels, 3, images_path, "images, uint8 [count, height, width]"));
  if (pixels.shape()[0] != labels.shape()[0]) {
    return data_loss(images_path + " has " + std::to_string(pixels.shape()[0]) + " images, and " + labels_path + " has " +
                     std::to_string(labels.shape()[0]) + " labels; they are not of one data set");
  }
  return ImagesAndLabels{scaled_images(pixels), wide_labels(labels)};
}

}  // namespace shoal::data
