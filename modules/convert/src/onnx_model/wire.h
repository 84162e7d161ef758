// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads messages of protocol buffers, field by field. Damage becomes DataLoss, naming the byte and the part of the file.
#include <cstdint>
#include <protozero/pbf_reader.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "shoal/base/result.h"

namespace shoal::convert::onnx_model {

/// The bytes of one protobuf message inside the ONNX file.
struct Message {
  std::string_view file;
  std::string_view bytes;
  std::string part;  ///< The name of this part of the file in errors: "graph: node 3".

  Message inner(std::string_view inner_bytes, const std::string& inner_part) const {
    return {file, inner_bytes, part + ": " + inner_part};
  }
  Error damaged(const char* at, std::string_view what) const {
    return data_loss("byte " + std::to_string(at - file.data()) + " of the ONNX file, in the " + part + ": " +
                     std::string(what));
  }
  Error refused(std::string_view what) const {
    return invalid_argument("the " + part + " of the ONNX file " + std::string(what));
  }
};

/// The current field of a reader. A value whose wire type differs from that of the format is damage; protozero alone
/// would only assert.
class Field {
 public:
  explicit Field(protozero::pbf_reader& reader) : reader_(reader) {}

  uint32_t tag() const { return reader_.tag(); }
  int64_t number() { return take(protozero::pbf_wire_type::varint).get_int64(); }
  float real() { return take(protozero::pbf_wire_type::fixed32).get_float(); }
  std::string_view bytes() {
    const protozero::data_view view = take(protozero::pbf_wire_type::length_delimited).get_view();
    return {view.data(), view.size()};
  }
  std::string text() { return std::string(bytes()); }
  /// Appends the values of a repeated field, packed or not.
  void append_to(std::vector<int64_t>& numbers) {
    if (!is_packed()) return numbers.push_back(number());
    for (const int64_t one : take(protozero::pbf_wire_type::length_delimited).get_packed_int64()) numbers.push_back(one);
  }
  void append_to(std::vector<float>& reals) {
    if (!is_packed()) return reals.push_back(real());
    for (const float one : take(protozero::pbf_wire_type::length_delimited).get_packed_float()) reals.push_back(one);
  }
  /// Skips the field's value, unless it was read already.
  void skip_rest() {
    if (!taken_) reader_.skip();
  }

 private:
  bool is_packed() const { return reader_.wire_type() == protozero::pbf_wire_type::length_delimited; }
  protozero::pbf_reader& take(protozero::pbf_wire_type type) {
    if (reader_.wire_type() != type) throw protozero::unknown_pbf_wire_type_exception();
    taken_ = true;
    return reader_;
  }

  protozero::pbf_reader& reader_;
  bool taken_ = false;
};

/// Calls read(field) for each field of the message. `read` returns Result<void>, and leaves unknown fields alone.
template <class Read>
Result<void> each_field(const Message& message, Read read) {
  protozero::pbf_reader reader(message.bytes.data(), message.bytes.size());
  try {
    while (reader.next()) {
      Field field(reader);
      SHOAL_TRY_VOID(read(field));
      field.skip_rest();
    }
  } catch (const protozero::exception& damage) {
    return message.damaged(reader.data().data(), damage.what());
  }
  return {};
}

}  // namespace shoal::convert::onnx_model
