// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes small ONNX files by hand: right ones and wrong ones. The numbers of fields are those of onnx.proto.
#include <cstdint>
#include <protozero/pbf_writer.hpp>
#include <string>
#include <vector>

namespace shoal::convert {

/// A message, put together field by field.
class TinyMessage {
 public:
  TinyMessage& number(uint32_t field, int64_t value) {
    protozero::pbf_writer(bytes_).add_int64(field, value);
    return *this;
  }
  TinyMessage& real(uint32_t field, float value) {
    protozero::pbf_writer(bytes_).add_float(field, value);
    return *this;
  }
  TinyMessage& text(uint32_t field, const std::string& value) {
    protozero::pbf_writer(bytes_).add_bytes(field, value);
    return *this;
  }
  TinyMessage& part(uint32_t field, const TinyMessage& value) { return text(field, value.bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

constexpr int64_t kTinyFloat = 1, kTinyInt64 = 7, kTinyText = 8;

/// A size of an axis: a symbol, or a number in digits.
inline TinyMessage tiny_port(const std::string& name, int64_t type, const std::vector<std::string>& sizes) {
  TinyMessage shape;
  for (const std::string& size : sizes) {
    const bool is_number = size.find_first_not_of("0123456789") == std::string::npos;
    shape.part(1, is_number ? TinyMessage().number(1, std::stoll(size)) : TinyMessage().text(2, size));
  }
  return TinyMessage().text(1, name).part(2, TinyMessage().part(1, TinyMessage().number(1, type).part(2, shape)));
}

inline TinyMessage tiny_node(const std::string& op, const std::vector<std::string>& inputs,
                             const std::vector<std::string>& outputs, const std::vector<TinyMessage>& attributes = {},
                             const std::string& domain = "") {
  TinyMessage node;
  for (const std::string& name : inputs) node.text(1, name);
  for (const std::string& name : outputs) node.text(2, name);
  node.text(3, "the_" + op).text(4, op);
  for (const TinyMessage& attribute : attributes) node.part(5, attribute);
  if (!domain.empty()) node.text(7, domain);
  return node;
}

inline TinyMessage tiny_int(const std::string& name, int64_t value) {
  return TinyMessage().text(1, name).number(3, value).number(20, 2);
}

inline TinyMessage tiny_constant(const std::string& name, const std::vector<int64_t>& dims,
                                 const std::vector<int64_t>& values) {
  TinyMessage tensor;
  for (const int64_t size : dims) tensor.number(1, size);
  tensor.number(2, kTinyInt64);
  for (const int64_t value : values) tensor.number(7, value);
  return tensor.text(8, name);
}

struct TinyFile {
  std::vector<TinyMessage> nodes, constants, inputs, outputs;
  int64_t opset = 17, ml_opset = 3;

  std::string bytes() const {
    TinyMessage graph;
    for (const TinyMessage& node : nodes) graph.part(1, node);
    for (const TinyMessage& constant : constants) graph.part(5, constant);
    for (const TinyMessage& input : inputs) graph.part(11, input);
    for (const TinyMessage& output : outputs) graph.part(12, output);
    return TinyMessage()
        .number(1, 8)
        .part(8, TinyMessage().text(1, "").number(2, opset))
        .part(8, TinyMessage().text(1, "ai.onnx.ml").number(2, ml_opset))
        .part(7, graph)
        .bytes();
  }
};

/// As other writers write: numbers packed, a constant that is a node, text. Input "town" [n], output "row" [n, 2].
inline TinyFile tiny_text_file() {
  TinyFile file;
  file.inputs = {tiny_port("town", kTinyText, {"n"})};
  file.outputs = {tiny_port("row", kTinyFloat, {"n", "2"})};
  const float table[] = {1, 2, 3, 4, 5, 6};
  file.constants = {TinyMessage()
                        .number(1, 3)
                        .number(1, 2)
                        .number(2, kTinyFloat)
                        .text(4, std::string(reinterpret_cast<const char*>(table), sizeof table))
                        .text(8, "table")};
  const auto texts = [](const std::string& name, const std::vector<std::string>& values) {
    TinyMessage attribute = TinyMessage().text(1, name);
    for (const std::string& value : values) attribute.text(9, value);
    return attribute.number(20, 8);
  };
  const TinyMessage ids = TinyMessage().text(1, "values_int64s").text(8, std::string("\1\2", 2)).number(20, 7);
  file.nodes = {tiny_node("LabelEncoder", {"town"}, {"id"},
                          {texts("keys_strings", {"Bonn", "Ulm"}), ids, tiny_int("default_int64", 0)}, "ai.onnx.ml"),
                tiny_node("Constant", {}, {"zero"},
                          {TinyMessage().text(1, "value").part(5, tiny_constant("", {}, {0})).number(20, 4)}),
                tiny_node("Add", {"id", "zero"}, {"same_id"}), tiny_node("Gather", {"table", "same_id"}, {"row"})};
  return file;
}

}  // namespace shoal::convert
