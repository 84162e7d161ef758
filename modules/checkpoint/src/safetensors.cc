// SPDX-License-Identifier: Apache-2.0
#include "shoal/checkpoint/safetensors.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <span>

#include "shoal/base/half.h"
#include "shoal/json/fields.h"

namespace shoal::checkpoint {
namespace {

constexpr uint64_t kLengthBytes = 8;
// The reference implementation of the format refuses longer headers.
constexpr uint64_t kSafetensorsHeaderBytesMax = 100'000'000;

/// A type of the format: the bytes of an element, and the type that read() returns.
struct FileType {
  std::string_view name;
  size_t width;
  std::optional<DType> dtype;
};
constexpr FileType kFileTypes[] = {{"F32", 4, DType::kFloat32}, {"F16", 2, DType::kFloat32}, {"BF16", 2, DType::kFloat32},
                                   {"F64", 8, DType::kFloat32}, {"I64", 8, DType::kInt64},   {"I32", 4, DType::kInt32},
                                   {"U8", 1, DType::kUInt8},    {"BOOL", 1, DType::kBool},   {"I8", 1, std::nullopt},
                                   {"I16", 2, std::nullopt},    {"U16", 2, std::nullopt},    {"U32", 4, std::nullopt},
                                   {"U64", 8, std::nullopt}};

const FileType* file_type(std::string_view name) {
  const auto* found = std::ranges::find(kFileTypes, name, &FileType::name);
  return found == std::end(kFileTypes) ? nullptr : found;
}

Result<Shape> shape_of(const json::Json& fields) {
  SHOAL_TRY(const json::Json* list, json::list_member(fields, "shape"));
  std::vector<int64_t> dims;
  for (size_t axis = 0; axis < list->size(); ++axis) {
    SHOAL_TRY(const json::Json* dim, json::element(*list, axis, "shape"));
    SHOAL_TRY(const int64_t size, json::whole_of<int64_t>(*dim, "shape", 0));
    dims.push_back(size);
  }
  if (dims.size() > size_t(Shape::kRankMax)) {
    return failed_precondition("it has " + std::to_string(dims.size()) + " axes, but Shoal's tensors have at most " +
                               std::to_string(Shape::kRankMax) + "; save it with fewer axes");
  }
  auto shape = Shape::checked(dims);
  if (!shape) return data_loss("shape: " + shape.error().message());
  return shape;
}

/// Returns the size of all elements in bytes; nothing if this number does not fit uint64.
std::optional<uint64_t> bytes_of_elements(const Shape& shape, size_t width) {
  const auto elements = uint64_t(shape.elements());
  if (elements > std::numeric_limits<uint64_t>::max() / width) return std::nullopt;
  return elements * width;
}

/// `begin` is the offset of the data in the file, `data_bytes` their size.
Result<SafetensorsEntry> parse_entry(const std::string& name, const json::Json& fields, uint64_t begin,
                                     uint64_t data_bytes) {
  SafetensorsEntry entry{.name = name, .file_dtype = {}, .dtype = std::nullopt, .shape = {}};
  SHOAL_TRY(entry.file_dtype, json::string_member(fields, "dtype"));
  SHOAL_TRY(entry.shape, shape_of(fields));
  SHOAL_TRY(const json::Json* offsets, json::list_member(fields, "data_offsets"));
  if (offsets->size() != 2) return data_loss("data_offsets must be two numbers");
  SHOAL_TRY(const auto first, json::whole_of<uint64_t>((*offsets)[0], "data_offsets"));
  SHOAL_TRY(const auto last, json::whole_of<uint64_t>((*offsets)[1], "data_offsets"));
  if (first > last || last > data_bytes) {
    return data_loss("its data_offsets are " + std::to_string(first) + " and " + std::to_string(last) +
                     ", but the file has " + std::to_string(data_bytes) + " bytes of data from offset " +
                     std::to_string(begin) + " on");
  }
  entry.offset = begin + first;
  entry.bytes = last - first;
  const FileType* type = file_type(entry.file_dtype);
  if (!type) return entry;
  entry.dtype = type->dtype;
  if (bytes_of_elements(entry.shape, type->width) == entry.bytes) return entry;
  return data_loss("it is " + entry.file_dtype + " " + to_string(entry.shape) + ", but its data_offsets enclose " +
                   std::to_string(entry.bytes) + " bytes");
}

/// DataLoss unless the data of the tensors lie end to end, from `begin` to the end of the file.
Result<void> check_order(const std::vector<SafetensorsEntry>& tensors, uint64_t begin, uint64_t file_bytes) {
  std::vector<const SafetensorsEntry*> by_place;
  for (const SafetensorsEntry& entry : tensors) by_place.push_back(&entry);
  std::ranges::sort(by_place, [](const SafetensorsEntry* a, const SafetensorsEntry* b) {
    return std::pair(a->offset, a->bytes) < std::pair(b->offset, b->bytes);
  });
  uint64_t end = begin;
  for (const SafetensorsEntry* entry : by_place) {
    if (entry->offset != end) {
      return data_loss("tensor " + entry->name + " begins at offset " + std::to_string(entry->offset) +
                       ", but the one before it ends at offset " + std::to_string(end));
    }
    end += entry->bytes;
  }
  if (end == file_bytes) return {};
  return data_loss("its tensors end at offset " + std::to_string(end) + ", but it has " + std::to_string(file_bytes) +
                   " bytes");
}

/// How many elements are converted at a time, so that the bytes of a tensor are not twice in memory.
constexpr size_t kConvertedAtOnce = 8192;

/// Reads elements of type `Stored` and converts them to floats.
template <class Stored, class Convert>
Result<void> read_as_floats(const ReadableFile& file, const SafetensorsEntry& entry, std::span<float> out,
                            Convert convert) {
  std::array<Stored, kConvertedAtOnce> piece;
  for (size_t at = 0; at < out.size(); at += kConvertedAtOnce) {
    const std::span<Stored> stored(piece.data(), std::min(kConvertedAtOnce, out.size() - at));
    SHOAL_TRY_VOID(file.read_at(entry.offset + at * sizeof(Stored), std::as_writable_bytes(stored)));
    std::ranges::transform(stored, out.begin() + ptrdiff_t(at), convert);
  }
  return {};
}

Result<void> check_bools(std::span<const std::byte> bytes, uint64_t offset) {
  const auto wrong = std::ranges::find_if(bytes, [](std::byte value) { return value > std::byte{1}; });
  if (wrong == bytes.end()) return {};
  return data_loss("the byte at offset " + std::to_string(offset + uint64_t(wrong - bytes.begin())) + " is " +
                   std::to_string(int(*wrong)) + ", but a bool is 0 or 1");
}

Result<void> read_elements(const ReadableFile& file, const SafetensorsEntry& entry, Tensor& out) {
  if (entry.file_dtype == "F16") return read_as_floats<uint16_t>(file, entry, out.mutable_as<float>(), from_float16);
  if (entry.file_dtype == "BF16") return read_as_floats<uint16_t>(file, entry, out.mutable_as<float>(), from_bfloat16);
  if (entry.file_dtype == "F64") {
    return read_as_floats<double>(file, entry, out.mutable_as<float>(), [](double x) { return float(x); });
  }
  const std::span<std::byte> bytes(out.mutable_view().data, out.bytes());
  SHOAL_TRY_VOID(file.read_at(entry.offset, bytes));
  return entry.dtype == DType::kBool ? check_bools(bytes, entry.offset) : Result<void>();
}

}  // namespace

std::string_view safetensors_dtype(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return "F32";
    case DType::kInt32: return "I32";
    case DType::kInt64: return "I64";
    case DType::kUInt8: return "U8";
    case DType::kBool: return "BOOL";
    case DType::kBFloat16: return "BF16";
    case DType::kFloat16: return "F16";
    case DType::kString: break;
  }
  return {};
}

Result<std::unique_ptr<SafetensorsFile>> SafetensorsFile::open(Storage& storage, std::string path) {
  SHOAL_TRY(auto opened, storage.open(path));
  std::unique_ptr<SafetensorsFile> file(new SafetensorsFile(std::move(path), std::move(opened)));
  if (auto read = file->read_header(); !read) return std::move(read).error().with_context(file->path_);
  return file;
}

Result<void> SafetensorsFile::read_header() {
  const uint64_t size = file_->size();
  if (size < kLengthBytes) {
    return data_loss("the file is cut: it has " + std::to_string(size) +
                     " bytes, but a safetensors file begins with a length of 8 bytes");
  }
  std::array<std::byte, kLengthBytes> length_bytes{};
  SHOAL_TRY_VOID(file_->read_at(0, length_bytes));
  uint64_t length = 0;
  std::memcpy(&length, length_bytes.data(), sizeof length);
  if (length > size - kLengthBytes || length > kSafetensorsHeaderBytesMax) {
    return data_loss("the length at offset 0 says that the header has " + std::to_string(length) +
                     " bytes, but the file has " + std::to_string(size) + "; it is cut, or not a safetensors file");
  }
  std::string text(size_t(length), '\0');
  SHOAL_TRY_VOID(file_->read_at(kLengthBytes, std::as_writable_bytes(std::span(text))));
  auto header = json::parse_object(text);
  if (!header) return std::move(header).error().with_context("the header at offset 8");
  const uint64_t begin = kLengthBytes + length;
  for (const auto& [name, fields] : header->items()) {
    if (name == "__metadata__") continue;
    auto entry = parse_entry(name, fields, begin, size - begin);
    if (!entry) return std::move(entry).error().with_context("tensor " + name);
    tensors_.push_back(std::move(entry).value());
  }
  return check_order(tensors_, begin, size);
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = std::ranges::lower_bound(tensors_, name, {}, &SafetensorsEntry::name);
  return found != tensors_.end() && found->name == name ? &*found : nullptr;
}

Result<Tensor> SafetensorsFile::read(const SafetensorsEntry& entry) const {
  const std::string where = path_ + ": tensor " + entry.name;
  if (!entry.dtype) {
    return failed_precondition(where + " is of type " + entry.file_dtype +
                               ", which Shoal does not read; save it as F32 (in PyTorch: tensor.float())");
  }
  Tensor tensor(*entry.dtype, entry.shape);
  if (auto read = read_elements(*file_, entry, tensor); !read) return std::move(read).error().with_context(where);
  return tensor;
}

}  // namespace shoal::checkpoint
