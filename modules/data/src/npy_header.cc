// SPDX-License-Identifier: Apache-2.0
#include "npy_header.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>
#include <vector>

#include "csv_syntax.h"
#include "no_text.h"
#include "shoal/base/number_text.h"
#include "shoal/base/record_framing.h"

namespace shoal::data {
namespace {

constexpr std::string_view kNpyMagic = "\x93NUMPY";
constexpr size_t kNpyVersionEnd = 8;
/// More than any real header needs: NumPy refuses texts of more than 10,000 bytes from untrusted sources.
constexpr uint32_t kNpyTextBytesMax = 1 << 20;

/// Parses the text of a header, which begins at the offset `begin` of its file.
class NpyDict {
 public:
  NpyDict(std::string_view text, size_t begin) : text_(text), begin_(begin) {}

  Result<NpyHeader> read() {
    if (!take('{')) return expected("{");
    while (!take('}')) {
      SHOAL_TRY(const std::string_view key, quoted("a key in quotes"));
      if (!take(':')) return expected(":");
      SHOAL_TRY_VOID(read_value(key));
      if (take('}')) break;
      if (!take(',')) return expected("a comma or }");
    }
    pass_over_blanks();
    if (at_ < text_.size()) return expected("blanks up to its end");
    if (!type_ || !fortran_order_ || !shape_) {
      return bad(std::string("the key ") +
                 (!type_            ? "descr"
                  : !fortran_order_ ? "fortran_order"
                                    : "shape") +
                 " is missing");
    }
    return NpyHeader{.type = *type_, .fortran_order = *fortran_order_, .shape = *shape_, .bytes = begin_ + text_.size()};
  }

 private:
  Result<void> read_value(std::string_view key) {
    if (key == "descr" && !type_) {
      SHOAL_TRY(type_, read_type());
    } else if (key == "fortran_order" && !fortran_order_) {
      SHOAL_TRY(fortran_order_, read_truth());
    } else if (key == "shape" && !shape_) {
      SHOAL_TRY(shape_, read_shape());
    } else {
      return bad("the key " + shown_text(key) + " is unknown, or is there twice");
    }
    return {};
  }

  Result<NpyType> read_type();
  Result<NpyType> type_of(std::string_view descr) const;

  Result<bool> read_truth() {
    if (take_word("True")) return true;
    if (take_word("False")) return false;
    return expected("True or False");
  }

  /// Reads a tuple: "()", "(3,)", "(3, 4)". Python 2 wrote an L behind some sizes.
  Result<Shape> read_shape() {
    if (!take('(')) return expected("a tuple of sizes");
    std::vector<int64_t> sizes;
    bool comma = true;
    while (!take(')')) {
      if (!comma) return expected("a comma or )");
      SHOAL_TRY(const int64_t size, read_size());
      sizes.push_back(size);
      comma = take(',');
    }
    if (sizes.size() == 1 && !comma) return bad("the shape is a number in brackets, and no tuple");
    if (sizes.size() > size_t(Shape::kRankMax)) {
      return failed_precondition("the array has " + std::to_string(sizes.size()) + " axes, and tensors have at most " +
                                 std::to_string(Shape::kRankMax) + "; save it with fewer, by array.reshape()");
    }
    Result<Shape> shape = Shape::checked(sizes);
    if (!shape) return bad(shape.error().message());
    return shape;
  }

  Result<int64_t> read_size() {
    pass_over_blanks();
    const size_t end = std::min(text_.find_first_not_of("0123456789", at_), text_.size());
    const std::string_view digits = text_.substr(at_, end - at_);
    const auto size = number_from<int64_t>(digits);
    if (!size || (digits.size() > 1 && digits.front() == '0')) return expected("a size of at least 0");
    at_ = end;
    if (at_ < text_.size() && text_[at_] == 'L') ++at_;
    return *size;
  }

  Result<std::string_view> quoted(const char* what) {
    pass_over_blanks();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) return expected(what);
    const size_t end = text_.find(text_[at_], at_ + 1);
    const std::string_view inside = text_.substr(at_ + 1, end == std::string_view::npos ? end : end - at_ - 1);
    if (end == std::string_view::npos || inside.find_first_of("\\\n") != std::string_view::npos) return expected(what);
    at_ = end + 1;
    return inside;
  }

  void pass_over_blanks() { at_ = std::min(text_.find_first_not_of(" \t\r\n", at_), text_.size()); }
  bool take(char c) {
    pass_over_blanks();
    if (at_ == text_.size() || text_[at_] != c) return false;
    return ++at_, true;
  }
  bool take_word(std::string_view word) {
    pass_over_blanks();
    if (!text_.substr(at_).starts_with(word)) return false;
    return at_ += word.size(), true;
  }

  Error bad(const std::string& what) const {
    return data_loss("bad NPY header (offset " + std::to_string(begin_ + at_) + "): " + what);
  }
  Error expected(const std::string& what) const {
    if (at_ == text_.size()) return bad("the header ends where " + what + " is expected");
    return bad("expected " + what + ", found \"" + shown_text(text_.substr(at_, 20)) + "\"");
  }

  const std::string_view text_;
  const size_t begin_;
  size_t at_ = 0;
  std::optional<NpyType> type_;
  std::optional<bool> fortran_order_;
  std::optional<Shape> shape_;
};

Result<NpyType> NpyDict::read_type() {
  pass_over_blanks();
  if (at_ < text_.size() && (text_[at_] == '[' || text_[at_] == '(')) {
    return failed_precondition(
        "the array is structured: its elements have fields; save each field as an array of its own, as "
        "numpy.savez(path, a=array['a'], b=array['b'])");
  }
  SHOAL_TRY(const std::string_view descr, quoted("a type in quotes"));
  return type_of(descr);
}

/// Returns advice for an array of a kind that tensors do not have; nothing for an unknown kind.
std::optional<std::string> refusal_of(char kind) {
  switch (kind) {
    case 'O':
      return "the array holds objects of Python, stored as a pickle, which may run any program where it is read; save it "
             "with "
             "a type of its own, as array.astype('float32'), or array.astype('U') for text";
    case 'V': return "the array holds bytes without a type; save it as array.view() of the type that they are";
    case 'M':
    case 'm': return "the array holds times; save them as numbers, as array.astype('int64')";
    case 'c': return "the array holds complex numbers; save array.real and array.imag";
    default: return std::nullopt;
  }
}

/// Returns the tensor type for elements of this kind and width; nothing if no file can have such elements.
std::optional<DType> dtype_for(NpyType::Kind kind, size_t width) {
  const bool is_power = width == 1 || width == 2 || width == 4 || width == 8;
  switch (kind) {
    case NpyType::Kind::kBool: return width == 1 ? std::optional(DType::kBool) : std::nullopt;
    case NpyType::Kind::kSigned: return is_power ? std::optional(width < 8 ? DType::kInt32 : DType::kInt64) : std::nullopt;
    case NpyType::Kind::kUnsigned:
      if (!is_power) return std::nullopt;
      return width == 1 ? DType::kUInt8 : width == 2 ? DType::kInt32 : DType::kInt64;
    case NpyType::Kind::kFloat: return is_power && width > 1 ? std::optional(DType::kFloat32) : std::nullopt;
    case NpyType::Kind::kBytes:
    case NpyType::Kind::kText: return DType::kString;
  }
  return std::nullopt;
}

Result<NpyType> NpyDict::type_of(std::string_view descr) const {
  constexpr std::string_view kOrders = "<>|", kTypeLetters = "biufSU";
  const Error unknown = bad("the type \"" + shown_text(descr) + "\" is unknown");
  if (descr.size() < 2 || kOrders.find(descr[0]) == std::string_view::npos) return unknown;
  if (const auto refusal = refusal_of(descr[1])) return failed_precondition(*refusal);
  const auto number = number_from<uint32_t>(descr.substr(2));
  if (kTypeLetters.find(descr[1]) == std::string_view::npos || !number || *number > uint32_t(INT32_MAX) / 4) return unknown;
  NpyType type{.kind = NpyType::Kind(descr[1]), .width = *number, .big_endian = descr[0] == '>'};
  if (type.kind == NpyType::Kind::kFloat && (type.width == 12 || type.width == 16)) {
    return failed_precondition("the array holds numbers of " + std::to_string(type.width) +
                               " bytes, whose format differs between machines; save it as array.astype('float64')");
  }
  const auto dtype = dtype_for(type.kind, type.width);
  if (!dtype || type.width == 0) return unknown;
  type.dtype = *dtype;
  const bool has_order = type.kind == NpyType::Kind::kText || (type.kind != NpyType::Kind::kBytes && type.width > 1);
  if (has_order && descr[0] == '|') return unknown;
  if (type.kind == NpyType::Kind::kText) type.width *= 4;
  return type;
}

/// Fills `out` with the part of the file that begins at `offset`. DataLoss, calling this part `what`, if the file ends.
Result<void> read_part(ByteSource& source, std::span<char> out, uint64_t offset, const char* what) {
  SHOAL_TRY(const size_t count, source.read(std::as_writable_bytes(out)));
  if (count == out.size()) return {};
  return data_loss("the file is truncated: " + std::string(what) + " takes " + std::to_string(out.size()) +
                   " bytes from offset " + std::to_string(offset) + ", and there are " + std::to_string(count));
}

/// Makes the error for a file that is no NPY file. `begin` has its first bytes; more bytes are read to tell its kind.
Error no_npy(std::string begin, ByteSource& source) {
  const size_t had = begin.size();
  begin.resize(512);
  const auto more = source.read(std::as_writable_bytes(std::span(begin)).subspan(had));
  begin.resize(had + (more ? *more : 0));
  if (begin.starts_with("PK"))
    return failed_precondition("the file is a zip archive; if NumPy wrote it, read it by read_npz()");
  if (const auto what = what_is_no_text(begin)) return failed_precondition("the file " + *what);
  return data_loss("not an NPY file: it begins (offset 0) with \"" + shown_text(std::string_view(begin).substr(0, 8)) +
                   "\", expected \"\\x93NUMPY\"");
}

}  // namespace

size_t NpyType::memory_bytes() const {
  return dtype == DType::kString ? sizeof(std::string) + width : std::max(width, size_of(dtype));
}

std::string NpyType::descr() const {
  const bool has_order = kind == Kind::kText || (kind != Kind::kBytes && width > 1);
  const size_t units = kind == Kind::kText ? width / 4 : width;
  return std::string(1, !has_order ? '|' : big_endian ? '>' : '<') + char(kind) + std::to_string(units);
}

Result<NpyHeader> read_npy_header(ByteSource& source) {
  std::string begin(kNpyVersionEnd, '\0');
  SHOAL_TRY(const size_t count, source.read(std::as_writable_bytes(std::span(begin))));
  begin.resize(count);
  if (!begin.starts_with(kNpyMagic) && !(count < kNpyMagic.size() && kNpyMagic.starts_with(begin)))
    return no_npy(begin, source);
  if (count < kNpyVersionEnd) {
    return data_loss("the file is truncated: it has " + std::to_string(count) + " bytes, and an NPY header has more");
  }
  const auto major = uint8_t(begin[6]), minor = uint8_t(begin[7]);
  if (major < 1 || major > 3 || minor != 0) {
    return data_loss("the NPY file has version " + std::to_string(major) + "." + std::to_string(minor) +
                     " (offset 6), and versions 1.0, 2.0 and 3.0 are known; it is damaged, or newer than this program");
  }
  std::array<char, 4> length_bytes{};
  const std::span<char> length_part = std::span(length_bytes).first(major == 1 ? 2 : 4);
  SHOAL_TRY_VOID(read_part(source, length_part, kNpyVersionEnd, "the length of the NPY header"));
  const auto length = load_little_endian<uint32_t>({length_bytes.data(), length_bytes.size()});
  const size_t text_begin = kNpyVersionEnd + length_part.size();
  if (length > kNpyTextBytesMax) {
    return data_loss("the length of the NPY header (offset 8) is " + std::to_string(length) + ", and at most " +
                     std::to_string(kNpyTextBytesMax) + " is possible");
  }
  std::string text(size_t(std::min<uint64_t>(length, source.left_max())), '\0');
  SHOAL_TRY_VOID(read_part(source, text, text_begin, "the NPY header"));
  if (text.size() < length) {
    return data_loss("the file is truncated: the NPY header takes " + std::to_string(length) + " bytes from offset " +
                     std::to_string(text_begin) + ", and there are " + std::to_string(text.size()));
  }
  SHOAL_TRY(const NpyHeader header, NpyDict(text, text_begin).read());
  if (uint64_t(header.shape.elements()) > uint64_t(INT64_MAX) / header.type.memory_bytes()) {
    return data_loss("bad NPY header (offset " + std::to_string(text_begin) + "): an array of the shape " +
                     to_string(header.shape) + " has more bytes than can be counted");
  }
  return header;
}

std::string npy_header_text(const NpyType& type, const Shape& shape) {
  constexpr size_t kAlignment = 64;
  std::string text = "{'descr': '" + type.descr() + "', 'fortran_order': False, 'shape': (";
  for (int axis = 0; axis < shape.rank(); ++axis)
    text += std::to_string(shape[axis]) + (axis + 1 < shape.rank() ? ", " : "");
  text += shape.rank() == 1 ? ",), }" : "), }";
  // A shape has at most eight sizes of 19 digits, so every text is short enough for version 1.0.
  const size_t size =
      (kNpyVersionEnd + 2 + text.size() + 1 + kAlignment - 1) / kAlignment * kAlignment - kNpyVersionEnd - 2;
  text.resize(size - 1, ' ');
  std::string header = std::string(kNpyMagic) + std::string("\x01\x00", 2);
  append_little_endian(header, uint16_t(size));
  return header + text + '\n';
}

}  // namespace shoal::data
