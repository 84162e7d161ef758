// SPDX-License-Identifier: Apache-2.0
// The parts of FunctionWriter that write eight-bit code.
#include <algorithm>

#include "cpp/function_writer.h"
#include "cpp/int8_layers.h"
#include "cpp/text.h"

namespace shoal::convert::cpp {
namespace {

template <class T>
std::span<const std::byte> bytes_of(const std::vector<T>& numbers) {
  return std::as_bytes(std::span(numbers));
}

std::string numbers_text(const std::vector<int64_t>& numbers) {
  std::vector<std::string> texts;
  for (const int64_t number : numbers) texts.push_back(int_text(number));
  return joined(texts);
}

/// The numeric arguments of the generated function conv_int8: sizes, strides, padding, dilations and the zero point.
std::string conv_text(const OpWriter& w, int32_t zero) {
  const Attributes& attributes = w.attributes();
  const Shape &x = w.input(0).shape, &kernel = w.input(1).shape, &y = w.output().shape;
  const int64_t groups = attributes.get_int("groups", 1);
  const auto &strides = attributes.get_ints("strides"), &padding = attributes.get_ints("padding");
  const auto dilations = attributes.get_ints("dilations", {1, 1});
  return numbers_text({x[0], x[1], x[2], y[1], y[2], groups, kernel[1], kernel[0] / groups, kernel[2], kernel[3],
                       strides[0], strides[1], padding[0], padding[2], dilations[0], dilations[1], zero});
}

}  // namespace

Result<bool> FunctionWriter::write_in_int8(NodeId id, const std::set<Place>& read) {
  if (int8_->plan.is_inside_layer(id)) return true;
  const Int8Layer* const layer = int8_->plan.layer_at(id);
  if (!layer && !int8_->plan.reads_int8(id)) return false;
  SHOAL_TRY(OpWriter writer, op_writer(graph_, layer ? layer->head : id, sizes_, read, this));
  writer_ = &writer;
  line("// " + comment_text(graph_.node(id).name) + ", in eight bits: " + to_string(writer.output().shape));
  if (layer) {
    SHOAL_TRY_VOID(write_int8_layer(*layer, writer));
  } else {
    write_int8_pool(writer, Value(&writer.node().inputs[0].graph(), id, 0));
  }
  writer_ = nullptr;
  return true;
}

Result<void> FunctionWriter::write_int8_layer(const Int8Layer& layer, OpWriter& head) {
  const std::string x = read_int8(head.node().inputs[0]);
  const Int8Scale from = int8_values_.at(place_of(root_of(graph_, head.node().inputs[0]))).scale;
  const bool stays = int8_->plan.is_read_as_int8(layer.result);
  const Int8Scale to = stays ? int8_->scales.at(place_of(layer.result)) : Int8Scale{};
  SHOAL_TRY(const Int8Weights made, int8_weights(graph_, layer, weights_, from, to));
  const std::string name = head.node().name;
  const Shape out{int64_t(made.bias.size())};
  const auto array = [&](const char* what, std::string_view type, const Shape& shape, std::span<const std::byte> bytes) {
    return array_name(name + " (" + what + " of eight bits)", type, shape, bytes);
  };
  const std::string weights =
      array("weights", "std::int8_t", {out[0], int64_t(made.weights.size()) / out[0]}, bytes_of(made.weights));
  const std::string bias = array("bias", "std::int32_t", out, bytes_of(made.bias));
  std::string result;
  if (stays) {
    need("to_int8");
    result = "ToInt8{" +
             joined({written_int8(layer.result, to), array("multipliers", "std::int32_t", out, bytes_of(made.multipliers)),
                     array("shifts", "std::uint8_t", out, bytes_of(made.shifts)), int_text(to.zero),
                     int_text(layer.relu ? std::max(to.zero, -128) : -128)}) +
             "}";
  } else {
    need("to_float");
    result = "ToFloat{" +
             joined({written(layer.result), array("factors", "float", out, bytes_of(made.factors)),
                     layer.relu ? "true" : "false"}) +
             "}";
  }
  if (head.node().op == "dense") {
    const Shape& kernel = head.input(1).shape;
    head.call("dense_int8",
              {x, weights, bias, result, int_text(head.input(0).rows()), int_text(kernel[0]), int_text(kernel[1])});
    return {};
  }
  need("conv_int8");
  line("{");
  line("  static const ConvInt8 sizes = {" + conv_text(head, from.zero) + "};");
  line("  conv_int8(" + joined({x, weights, bias, result, "sizes"}) + ");");
  line("}");
  return {};
}

/// Writes pools and relus, which leave the scale of their operand unchanged.
void FunctionWriter::write_int8_pool(OpWriter& w, const Value& result) {
  const std::string x = read_int8(w.node().inputs[0]);
  const Int8Scale scale = int8_values_.at(place_of(root_of(graph_, w.node().inputs[0]))).scale;
  const std::string y = written_int8(result, scale);
  if (w.node().op == "relu") {
    const std::string zero = int_text(scale.zero);
    line("for (Size i = 0; i < " + int_text(w.output().elements()) + "; ++i) " + y + "[i] = " + x + "[i] < " + zero +
         " ? std::int8_t(" + zero + ") : " + x + "[i];");
    return;
  }
  const Attributes& attributes = w.attributes();
  const auto &window = attributes.get_ints("window"), &strides = attributes.get_ints("strides"),
             &padding = attributes.get_ints("padding");
  const Shape &image = w.input(0).shape, &pooled = w.output().shape;
  const std::string sizes = numbers_text({image[0], image[1], image[2], image[3], pooled[1], pooled[2], window[0],
                                          window[1], strides[0], strides[1], padding[0], padding[2]});
  w.call("pool_int8", {x, y, "{" + sizes + "}", w.node().op == "max_pool" ? "true" : "false"});
}

std::string FunctionWriter::read_int8(const Value& value) {
  const Value root = root_of(graph_, value);
  if (!int8_values_.contains(place_of(root))) {
    const std::string from = read(root);
    const Int8Scale scale = int8_->scales.at(place_of(root));
    const int64_t count = root.shape().resolve(sizes_).value().elements();
    const std::string to = written_int8(root, scale);
    floats_missing_.erase(place_of(root));
    need("quantize");
    line("quantize(" + joined({from, to, int_text(count), float_text(scale.scale), int_text(scale.zero)}) + ");");
  }
  const int32_t place = int8_values_.at(place_of(root)).root;
  roots_[size_t(place)].last = step_;
  return "m" + std::to_string(place);
}

std::string FunctionWriter::written_int8(const Value& value, const Int8Scale& scale) {
  const int64_t count = value.shape().resolve(sizes_).value().elements();
  const int32_t root = add_root("std::int8_t", size_t(count));
  int8_values_[place_of(value)] = {root, scale};
  floats_missing_.insert(place_of(value));
  return "m" + std::to_string(root);
}

void FunctionWriter::write_float_of(const Value& root) {
  floats_missing_.erase(place_of(root));
  const auto& [place, scale] = int8_values_.at(place_of(root));
  roots_[size_t(place)].last = step_;
  need("dequantize");
  const int64_t count = root.shape().resolve(sizes_).value().elements();
  line(
      "dequantize(" +
      joined({"m" + std::to_string(place), written(root), int_text(count), float_text(scale.scale), int_text(scale.zero)}) +
      ");");
}

}  // namespace shoal::convert::cpp
