// SPDX-License-Identifier: Apache-2.0
#include "shoal/data/array_rows.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <optional>

#include "idx_array.h"
#include "npy_array.h"
#include "npy_elements.h"
#include "zip_reader.h"

namespace shoal::data {

struct ArrayRows::State {
  std::string path;  ///< How errors name the array: the file's path, and in an NPZ file also the array's name.
  std::string name = {};
  std::string type = {};
  Shape shape = {};
  // These members serve an array that is read row by row.
  /// The archive that `source` reads from; null if the file is no archive.
  std::shared_ptr<const ZipArchive> archive = nullptr;
  std::unique_ptr<ByteSource> source = nullptr;
  NpyHeader header = {};
  std::vector<std::byte> bytes = {};
  // These members serve an array that is read as a whole: by the first call of next() or, from an IDX file, by open().
  std::function<Result<std::unique_ptr<ByteSource>>()> open_again = {};  ///< Opens the bytes of the array from their start.
  std::optional<Tensor> all = {};
  int64_t row = 0;                         ///< The number of the row to read next.
  std::optional<std::string> remark = {};  ///< What ArrayRows::remark() returns.

  /// The number of rows; 0 if rows have no elements: a tiny file could claim any number of empty rows.
  int64_t rows() const { return shape.rank() == 0 ? 1 : shape.elements() == 0 ? 0 : shape[0]; }
  Shape row_shape() const { return shape.rank() == 0 ? Shape{} : Shape(shape.dims().subspan(1)); }
  Result<bool> next(Tensor& out);
  Result<void> read_row(Tensor& out);
  Result<void> copy_row(Tensor& out);
  Result<void> read_all();
  Result<void> check_end();
};

namespace {

constexpr uint64_t kRowBytesMax = uint64_t(256) << 20, kWholeBytesMax = uint64_t(1) << 30;
constexpr std::string_view kArraySuffix = ".npy";

std::string type_name(const NpyType& type) {
  const auto sized = [&](const char* name, size_t unit) { return name + std::to_string(type.width * unit); };
  switch (type.kind) {
    case NpyType::Kind::kBool: return "bool";
    case NpyType::Kind::kSigned: return sized("int", 8);
    case NpyType::Kind::kUnsigned: return sized("uint", 8);
    case NpyType::Kind::kFloat: return sized("float", 8);
    case NpyType::Kind::kBytes: return "S" + std::to_string(type.width);
    case NpyType::Kind::kText: return "U" + std::to_string(type.width / 4);
  }
  return "";
}

Result<std::string> idx_type_name(Storage& storage, const std::string& path) {
  SHOAL_TRY(const std::unique_ptr<ByteSource> source, open_bytes(storage, path));
  std::array<std::byte, 4> magic{};
  SHOAL_TRY(const size_t count, source->read(magic));
  static_cast<void>(count);  // Not checked: read_idx() has refused files of fewer than 4 bytes.
  constexpr std::pair<int, const char*> kTypes[] = {{0x08, "uint8"}, {0x09, "int8"},    {0x0b, "int16"},
                                                    {0x0c, "int32"}, {0x0d, "float32"}, {0x0e, "float64"}};
  for (const auto& [code, name] : kTypes) {
    if (int(magic[2]) == code) return std::string(name);
  }
  return std::string("unknown");
}

}  // namespace

Result<void> ArrayRows::State::read_row(Tensor& out) {
  const uint64_t first = uint64_t(row) * uint64_t(out.elements());
  bytes.resize(size_t(out.elements()) * header.type.width);
  SHOAL_TRY(const size_t count, source->read(bytes));
  const uint64_t offset = header.bytes + first * header.type.width;
  if (count < bytes.size()) {
    return data_loss("the file is truncated: row " + std::to_string(row) + " takes " + std::to_string(bytes.size()) +
                     " bytes from offset " + std::to_string(offset) + ", and there are " + std::to_string(count));
  }
  return decode_npy(header.type, bytes, {.first = first, .begin = header.bytes}, out, 0);
}

Result<void> ArrayRows::State::copy_row(Tensor& out) {
  const auto count = size_t(out.elements());
  const size_t first = size_t(row) * count;
  if (all->dtype() == DType::kString) {
    std::copy_n(all->strings().begin() + ptrdiff_t(first), count, out.mutable_strings().begin());
  } else if (count > 0) {
    const size_t width = size_of(all->dtype());
    std::memcpy(out.mutable_view().data, all->view().data + first * width, count * width);
  }
  return {};
}

Result<void> ArrayRows::State::read_all() {
  SHOAL_TRY(const std::unique_ptr<ByteSource> whole, open_again());
  Result<Tensor> tensor = read_npy_array(*whole, kWholeBytesMax);
  if (!tensor) return in_npy_file(std::move(tensor).error(), path);
  all = *std::move(tensor);
  remark = passed_over_remark(*whole, path);
  return {};
}

/// Checks that nothing follows the last row.
Result<void> ArrayRows::State::check_end() {
  if (!source) return {};
  std::array<std::byte, 1> extra{};
  SHOAL_TRY(const size_t count, source->read(extra));
  remark = passed_over_remark(*source, path);
  source.reset();
  if (count == 0) return {};
  return data_loss("the file goes on behind its array, which ends at offset " +
                   std::to_string(header.bytes + header.data_bytes()));
}

Result<bool> ArrayRows::State::next(Tensor& out) {
  if (row >= rows()) {
    if (auto end = check_end(); !end) return in_npy_file(std::move(end).error(), path);
    return false;
  }
  const DType dtype = source ? header.type.dtype : all ? all->dtype() : DType::kFloat32;
  if (!source && !all) {
    SHOAL_TRY_VOID(read_all());
    return next(out);
  }
  const Shape one = row_shape();
  const size_t width = source ? header.type.memory_bytes() : size_of(dtype);
  if (uint64_t(one.elements()) > kRowBytesMax / std::max<size_t>(1, width)) {
    return invalid_argument(path + ": a row of the shape " + to_string(one) + " takes more than " +
                            std::to_string(kRowBytesMax) + " bytes; reshape the array so that its rows are shorter");
  }
  if (out.dtype() != dtype || !(out.shape() == one) || !out.unique()) out = Tensor(dtype, one);
  auto read = source ? read_row(out) : copy_row(out);
  if (!read) return in_npy_file(std::move(read).error(), path);
  ++row;
  return true;
}

ArrayRows::ArrayRows(Hidden<State> state) : state_(std::move(state)) {}
ArrayRows::ArrayRows(ArrayRows&&) noexcept = default;
ArrayRows& ArrayRows::operator=(ArrayRows&&) noexcept = default;
ArrayRows::~ArrayRows() = default;

Result<std::vector<ArrayRows>> ArrayRows::open(Storage& storage, const std::string& path, FileFormat format) {
  std::vector<ArrayRows> arrays;
  const auto add = [&](State state) { arrays.push_back(ArrayRows(Hidden<State>(new State(std::move(state))))); };
  /// `open_bytes_of` opens the bytes of the array from their start. It is called here and, for an array in Fortran's order,
  /// once more by the first call of next(), which reads the whole array.
  const auto add_npy = [&](State state,
                           const std::function<Result<std::unique_ptr<ByteSource>>()>& open_bytes_of) -> Result<void> {
    SHOAL_TRY(state.source, open_bytes_of());
    SHOAL_TRY(state.header, read_npy_header(*state.source));
    state.shape = state.header.shape;
    state.type = type_name(state.header.type);
    if (state.header.data_bytes() > state.source->left_max()) {
      return data_loss("the file is truncated: its header promises " + std::to_string(state.header.data_bytes()) +
                       " bytes from offset " + std::to_string(state.header.bytes) + ", and there are at most " +
                       std::to_string(state.source->left_max()));
    }
    if (state.header.fortran_order && state.shape.rank() > 1) {
      state.source.reset();
      state.open_again = open_bytes_of;
    }
    add(std::move(state));
    return {};
  };
  if (format == FileFormat::kIdx) {
    const Result<std::unique_ptr<ByteSource>> source = open_bytes(storage, path);
    if (!source) return in_npy_file(source.error(), path);
    Result<Tensor> tensor = read_idx_array(**source, {.bytes_max = kWholeBytesMax});
    if (!tensor) return in_npy_file(std::move(tensor).error(), path);
    SHOAL_TRY(std::string type, idx_type_name(storage, path));
    State state{.path = path, .type = std::move(type), .shape = tensor->shape()};
    state.all = *std::move(tensor);
    state.remark = passed_over_remark(**source, path);
    add(std::move(state));
    return arrays;
  }
  if (format == FileFormat::kNpy) {
    const auto added = add_npy({.path = path}, [&storage, path] { return open_bytes(storage, path); });
    if (!added) return in_npy_file(added.error(), path);
    return arrays;
  }
  SHOAL_TRY(ZipArchive opened, ZipArchive::open(storage, path));
  const auto archive = std::make_shared<const ZipArchive>(std::move(opened));
  for (const ZipEntry& entry : archive->entries()) {
    const auto named = [&](Error error) { return archive->in_member(std::move(error), entry); };
    if (!entry.name.ends_with(kArraySuffix)) {
      return named(failed_precondition("the member is no array by its name, which does not end with .npy"));
    }
    State state{.path = path + ", array " + entry.name.substr(0, entry.name.size() - kArraySuffix.size())};
    state.name = entry.name.substr(0, entry.name.size() - kArraySuffix.size());
    state.archive = archive;
    const auto added = add_npy(std::move(state), [archive, &entry] { return archive->open(entry); });
    if (!added) return named(added.error());
  }
  return arrays;
}

const std::string& ArrayRows::name() const { return state_->name; }
const std::string& ArrayRows::type() const { return state_->type; }
const Shape& ArrayRows::shape() const { return state_->shape; }
int64_t ArrayRows::rows() const { return state_->rows(); }
Result<bool> ArrayRows::next(Tensor& row) { return state_->next(row); }
const std::optional<std::string>& ArrayRows::remark() const { return state_->remark; }

}  // namespace shoal::data
