// SPDX-License-Identifier: Apache-2.0
#include "npy_elements.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>

#include "npy_text.h"
#include "shoal/base/cpu.h"
#include "shoal/base/half.h"
#include "shoal/base/utf8.h"

namespace shoal::data {
namespace {

uint8_t reversed(uint8_t bits) { return bits; }
uint16_t reversed(uint16_t bits) { return __builtin_bswap16(bits); }
uint32_t reversed(uint32_t bits) { return __builtin_bswap32(bits); }
uint64_t reversed(uint64_t bits) { return __builtin_bswap64(bits); }

/// Elements to decode, and the memory for the results.
struct Decoding {
  const NpyType& type;
  std::span<const std::byte> bytes;
  NpyPlace place;
  Tensor& out;
  size_t at;

  size_t count() const { return bytes.size() / type.width; }
  std::span<const std::byte> element(size_t i) const { return bytes.subspan(i * type.width, type.width); }
  Error damaged(size_t i, const std::string& what) const {
    const uint64_t index = place.first + i;
    return data_loss("element " + std::to_string(index) + " in the order of the file (offset " +
                     std::to_string(place.begin + index * type.width) + ") " + what);
  }
};

/// Decodes numbers of the width of `Bits`; value_of(bits) returns the value to store.
template <class Bits, class To, class ValueOf>
void decode_numbers(const Decoding& what, const ValueOf& value_of) {
  const bool swapped = what.type.big_endian != (std::endian::native == std::endian::big);
  To* const to = what.out.mutable_as<To>().data() + what.at;
  for (size_t i = 0; i < what.count(); ++i) {
    Bits bits;
    std::memcpy(&bits, what.bytes.data() + i * sizeof bits, sizeof bits);
    to[i] = value_of(swapped ? reversed(bits) : bits);
  }
}

/// Denormal numbers stay as they are, even in a thread that computes with denormal numbers as zero.
void decode_floats(const Decoding& what) {
  const ComputeMode mode(Denormals::kKept);
  switch (what.type.width) {
    case 2: return decode_numbers<uint16_t, float>(what, [](uint16_t bits) { return from_float16(bits); });
    case 4: return decode_numbers<uint32_t, float>(what, [](uint32_t bits) { return std::bit_cast<float>(bits); });
    default: return decode_numbers<uint64_t, float>(what, [](uint64_t bits) { return float(std::bit_cast<double>(bits)); });
  }
}

void decode_signed(const Decoding& what) {
  switch (what.type.width) {
    case 1: return decode_numbers<uint8_t, int32_t>(what, [](uint8_t bits) { return int32_t(int8_t(bits)); });
    case 2: return decode_numbers<uint16_t, int32_t>(what, [](uint16_t bits) { return int32_t(int16_t(bits)); });
    case 4: return decode_numbers<uint32_t, int32_t>(what, [](uint32_t bits) { return int32_t(bits); });
    default: return decode_numbers<uint64_t, int64_t>(what, [](uint64_t bits) { return int64_t(bits); });
  }
}

Result<void> decode_unsigned(const Decoding& what) {
  switch (what.type.width) {
    case 1: decode_numbers<uint8_t, uint8_t>(what, [](uint8_t bits) { return bits; }); return {};
    case 2: decode_numbers<uint16_t, int32_t>(what, [](uint16_t bits) { return int32_t(bits); }); return {};
    case 4: decode_numbers<uint32_t, int64_t>(what, [](uint32_t bits) { return int64_t(bits); }); return {};
    default: break;
  }
  decode_numbers<uint64_t, int64_t>(what, [](uint64_t bits) { return int64_t(bits); });
  const std::span<const int64_t> done = what.out.as<int64_t>().subspan(what.at, what.count());
  const auto too_large = std::ranges::find_if(done, [](int64_t number) { return number < 0; });
  if (too_large == done.end()) return {};
  return what.damaged(size_t(too_large - done.begin()),
                      "is " + std::to_string(uint64_t(*too_large)) +
                          ", which is more than int64 holds; save the array with another type, as array.astype('float64')");
}

Result<void> decode_bools(const Decoding& what) {
  const auto wrong = std::ranges::find_if(what.bytes, [](std::byte byte) { return byte > std::byte(1); });
  if (wrong != what.bytes.end()) {
    return what.damaged(size_t(wrong - what.bytes.begin()),
                        "has the byte " + std::to_string(int(*wrong)) + ", and a bool is 0 or 1");
  }
  std::memcpy(what.out.mutable_view().data + what.at, what.bytes.data(), what.bytes.size());
  return {};
}

Result<void> decode_texts(const Decoding& what) {
  std::vector<std::string>& to = what.out.mutable_strings();
  for (size_t i = 0; i < what.count(); ++i) {
    const std::span<const std::byte> element = what.element(i);
    std::string& text = to[what.at + i];
    if (what.type.kind == NpyType::Kind::kText) {
      const auto strange = utf8_from_utf32(element, what.type.big_endian, text);
      if (strange)
        return what.damaged(i, "has the number " + std::to_string(*strange) + " in its text, which is no character");
      continue;
    }
    text.assign(reinterpret_cast<const char*>(element.data()), element.size());
    text.resize(text.find_last_not_of('\0') + 1);
  }
  return {};
}

Result<NpyType> text_type_for(const std::vector<std::string>& texts) {
  constexpr size_t kBytesMax = INT32_MAX;  // NumPy counts the bytes of an element as an int.
  const bool is_utf8 = std::ranges::none_of(texts, [](const std::string& text) { return find_no_utf8(text).has_value(); });
  size_t longest = 1;  // NumPy has no elements of zero bytes.
  for (size_t i = 0; i < texts.size(); ++i) {
    longest = std::max(longest, is_utf8 ? characters_in(texts[i]) : texts[i].size());
    if (!texts[i].ends_with('\0')) continue;
    return invalid_argument("string " + std::to_string(i) +
                            " ends with a zero byte, which NumPy takes away from texts; save such bytes as uint8");
  }
  const size_t unit = is_utf8 ? 4 : 1;
  if (longest > kBytesMax / unit) {
    return invalid_argument("a string has " + std::to_string(longest) + (is_utf8 ? " characters" : " bytes") +
                            ", which is more than NumPy has in an element, " + std::to_string(kBytesMax / unit));
  }
  return NpyType{
      .kind = is_utf8 ? NpyType::Kind::kText : NpyType::Kind::kBytes, .width = longest * unit, .dtype = DType::kString};
}

}  // namespace

Result<void> decode_npy(const NpyType& type, std::span<const std::byte> bytes, NpyPlace place, Tensor& out, size_t at) {
  const Decoding what{type, bytes, place, out, at};
  if (what.count() == 0) return {};
  switch (type.kind) {
    case NpyType::Kind::kFloat: decode_floats(what); return {};
    case NpyType::Kind::kSigned: decode_signed(what); return {};
    case NpyType::Kind::kUnsigned: return decode_unsigned(what);
    case NpyType::Kind::kBool: return decode_bools(what);
    case NpyType::Kind::kBytes:
    case NpyType::Kind::kText: return decode_texts(what);
  }
  return {};
}

bool has_bytes_of_tensor(const NpyType& type) {
  const bool is_number = type.kind == NpyType::Kind::kFloat || type.kind == NpyType::Kind::kSigned ||
                         (type.kind == NpyType::Kind::kUnsigned && type.width == 1);
  const bool is_native = type.width == 1 || type.big_endian == (std::endian::native == std::endian::big);
  return is_number && is_native && type.width == size_of(type.dtype);
}

Result<NpyType> npy_type_for(const Tensor& tensor) {
  using Kind = NpyType::Kind;
  const DType dtype = tensor.dtype();
  const auto number = [&](Kind kind) { return NpyType{.kind = kind, .width = size_of(dtype), .dtype = dtype}; };
  switch (dtype) {
    case DType::kFloat32:
    case DType::kFloat16: return number(Kind::kFloat);
    case DType::kInt32:
    case DType::kInt64: return number(Kind::kSigned);
    case DType::kUInt8: return number(Kind::kUnsigned);
    case DType::kBool: return number(Kind::kBool);
    case DType::kString: return text_type_for(tensor.strings());
    case DType::kBFloat16: break;
  }
  return invalid_argument("NumPy has no bfloat16; convert the tensor to float32");
}

void encode_npy(const Tensor& tensor, const NpyType& type, size_t begin, size_t end, std::string& out) {
  const size_t had = out.size();
  if (type.dtype == DType::kString) {
    for (size_t i = begin; i < end; ++i) {
      const std::string& text = tensor.strings()[i];
      if (type.kind == NpyType::Kind::kText) {
        append_utf32(text, out);
      } else {
        out += text;
      }
      out.resize(had + (i - begin + 1) * type.width, '\0');
    }
    return;
  }
  out.append(reinterpret_cast<const char*>(tensor.view().data) + begin * type.width, (end - begin) * type.width);
  if (std::endian::native == std::endian::little) return;
  for (size_t at = had; at < out.size(); at += type.width) std::reverse(&out[at], &out[at] + type.width);
}

}  // namespace shoal::data
