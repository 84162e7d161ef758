// SPDX-License-Identifier: Apache-2.0
// Reads a file of JSON lines. The first byte of the input selects which fields are optional and what the labels are; two
// more are the limit of a line. Each line that is read says the same to the parser that keeps whole values
// (json::parse_object), and an iterator that is restored to a position reads on as the first one did.
#include <bit>
#include <cmath>
#include <vector>

#include "memory_storage.h"
#include "shoal/base/check.h"
#include "shoal/base/utf8.h"
#include "shoal/base/virtual.h"
#include "shoal/data/dataset.h"
#include "shoal/json/text.h"
#include "target.h"

namespace shoal::data {
namespace {

constexpr size_t kRecordsMax = 50;
using json::Json;

JsonLinesOptions options_of(uint8_t how, int64_t line_bytes_max) {
  JsonLinesOptions options{.fields = {{.name = "t"},
                                      {.name = "f", .dtype = DType::kFloat32},
                                      {.name = "i", .dtype = DType::kInt64},
                                      {.name = "b", .dtype = DType::kBool},
                                      {.name = "p", .dtype = DType::kInt32, .shape = {2}},
                                      {.name = "g", .dtype = DType::kFloat32, .shape = {2, 1}},
                                      {.name = "w", .variable = true, .path = "o.w"},
                                      {.name = "n", .dtype = DType::kInt32, .path = "o.n"}}};
  if (how & 1) options.labels = {"f"};
  if (how & 2) options.labels.push_back("w");
  if (how & 4) {
    for (JsonField& field : options.fields)
      field.missing = Tensor::zeros(field.dtype == DType::kString ? DType::kUInt8 : field.dtype, {});
    options.fields[0].missing = Tensor::of_strings({}, {"none"});
    options.fields[6].missing = Tensor(DType::kString, {0});
  }
  options.line_bytes_max = line_bytes_max;
  return options;
}

/// One element, and nothing but what it holds.
std::string text_of(const Element& element) {
  std::string text;
  for (const TensorMap* map : {&element.features, &element.labels}) {
    for (const auto& [name, tensor] : *map) {
      text += name + to_string(tensor.shape());
      if (tensor.dtype() == DType::kString) {
        for (const std::string& one : tensor.strings()) text += std::to_string(one.size()) + ":" + one;
      } else {
        text.append(reinterpret_cast<const char*>(tensor.view().data), tensor.bytes());
      }
    }
  }
  return text;
}

/// The whole value, cut into its elements.
void flatten(const Json& value, std::vector<const Json*>& elements) {
  if (!value.is_array()) return elements.push_back(&value);
  for (const Json& one : value) flatten(one, elements);
}

void compare(const Json& value, const Tensor& tensor) {
  std::vector<const Json*> elements;
  flatten(value, elements);
  SHOAL_CHECK(int64_t(elements.size()) == tensor.elements());
  for (size_t i = 0; i < elements.size(); ++i) {
    const Json& one = *elements[i];
    switch (tensor.dtype()) {
      case DType::kString:
        SHOAL_CHECK(one.get<std::string>() == tensor.strings()[i] && !find_no_utf8(tensor.strings()[i]));
        break;
      case DType::kBool: SHOAL_CHECK(one.get<bool>() == tensor.as<bool>()[i]); break;
      case DType::kInt64: SHOAL_CHECK(one.get<int64_t>() == tensor.as<int64_t>()[i]); break;
      case DType::kInt32: SHOAL_CHECK(one.get<int64_t>() == tensor.as<int32_t>()[i]); break;
      default: {
        // By way of double, a float32 may be rounded to its neighbour.
        const float number = tensor.as<float>()[i], near = float(one.get<double>());
        SHOAL_CHECK(number == near || number == std::nextafter(near, INFINITY) ||
                    number == std::nextafter(near, -INFINITY));
      }
    }
  }
}

void compare_with_line(const JsonLinesOptions& options, const std::string& line, const Element& element) {
  const Json whole = value_or_raise(json::parse_object(line));
  for (const JsonField& field : options.fields) {
    const bool inside = !field.path.empty();
    const auto object = inside ? whole.find("o") : whole.end();
    const Json& owner = inside && object != whole.end() && object->is_object() ? *object : whole;
    const auto value = inside && &owner == &whole ? whole.end() : owner.find(field.name);
    const Tensor* tensor = element.features.find(field.name);
    if (tensor == nullptr) tensor = element.labels.find(options.labels.size() == 1 ? "" : field.name);
    SHOAL_CHECK(tensor != nullptr && tensor->dtype() == field.dtype);
    const bool is_there = !(inside && &owner == &whole) && value != owner.end() && !value->is_null();
    if (is_there) compare(*value, *tensor);
    if (!is_there) SHOAL_CHECK(field.missing.has_value());
  }
}

}  // namespace
}  // namespace shoal::data

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace shoal;
  using namespace shoal::data;
  fuzz::Input input(data, size);
  const auto how = input.take<uint8_t>();
  const JsonLinesOptions options = options_of(how, int64_t(input.take<uint16_t>()) + 1);
  for (const std::string_view magic : {"\x1f\x8b", "\x28\xb5\x2f\xfd", "\x04\x22\x4d\x18"}) {
    if (input.text().starts_with(magic)) return 0;  // Another target reads compressed files.
  }
  const auto storage = std::make_shared<fuzz::MemoryStorage>();
  storage->files["a"] = input.text();
  VirtualWorld world(1);
  Environment& env = world.add_task({.storage = storage});
  const Dataset dataset = Dataset::json_lines({"a"}, options);
  const Dataset lines = Dataset::text_lines({"a"}, {.line_bytes_max = options.line_bytes_max});
  const auto iterator = value_or_raise(dataset.iterate(env)), line_iterator = value_or_raise(lines.iterate(env));
  std::vector<std::string> records;
  std::vector<Position> positions;
  for (Element element; records.size() < kRecordsMax;) {
    positions.push_back(value_or_raise(iterator->save()));
    const Result<bool> more = iterator->next(element);
    if (!more) fuzz::touch(more.error().message());
    if (!more || !*more) break;
    records.push_back(text_of(element));
    fuzz::touch(records.back());
    Element line;
    do {
      SHOAL_CHECK(value_or_raise(line_iterator->next(line)));
    } while (line.features.single().strings()[0].find_first_not_of(" \t\r") == std::string::npos);
    compare_with_line(options, line.features.single().strings()[0], element);
  }
  for (size_t i = 0; i < records.size(); ++i) {
    const auto resumed = value_or_raise(dataset.iterate(env));
    value_or_raise(resumed->restore(positions[i]));
    Element element;
    SHOAL_CHECK(value_or_raise(resumed->next(element)) && text_of(element) == records[i]);
  }
  return 0;
}
