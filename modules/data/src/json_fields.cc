// SPDX-License-Identifier: Apache-2.0
#include "json_fields.h"

#include <array>
#include <cstring>

#include "csv_number.h"
#include "csv_syntax.h"

namespace shoal::data {
namespace {

std::string_view json_kind_text(JsonKind kind) {
  constexpr std::array<std::string_view, 6> kTexts = {"null",     "true or false", "a number",
                                                      "a string", "a list",        "an object"};
  return kTexts[size_t(kind)];
}

std::string expected_element(DType dtype) {
  switch (dtype) {
    case DType::kString: return "a string";
    case DType::kBool: return "true or false";
    default: return "a number";
  }
}

void ready_json_tensor(Tensor& tensor, DType dtype, const Shape& shape) {
  if (tensor.dtype() != dtype || !(tensor.shape() == shape) || !tensor.unique()) tensor = Tensor(dtype, shape);
}

bool has_json_values(DType dtype) {
  return dtype == DType::kString || dtype == DType::kFloat32 || dtype == DType::kInt64 || dtype == DType::kInt32 ||
         dtype == DType::kBool;
}

}  // namespace

void JsonGatherer::begin(const JsonField& field) {
  field_ = &field;
  is_done_ = false;
  counts_.clear();
  elements_ = 0;
  bytes_.clear();
}

Result<void> JsonGatherer::boolean(bool value) {
  if (field_->dtype != DType::kBool || !wants_element()) return mismatch(JsonKind::kBool, value ? "true" : "false");
  return add(uint8_t(value));
}

Result<void> JsonGatherer::number(std::string_view text) {
  if (wants_element()) {
    switch (field_->dtype) {
      case DType::kFloat32: return add_number<float>(text);
      case DType::kInt64: return add_number<int64_t>(text);
      case DType::kInt32: return add_number<int32_t>(text);
      default: break;
    }
  }
  return mismatch(JsonKind::kNumber, text);
}

template <class T>
Result<void> JsonGatherer::add_number(std::string_view text) {
  const auto value = field_number<T>(text);
  if (value) return add(*value);
  return wrong(
      "is " + shown_text(text) + ", expected " + std::string(to_string(field_->dtype)) +
      (has_fraction(text) ? "; it has a fraction, so the field has to be float32" : "; it is beyond what that type holds"));
}

Result<void> JsonGatherer::string(std::string& text) {
  if (field_->dtype != DType::kString || !wants_element()) return mismatch(JsonKind::kString, text);
  if (size_t(elements_) == strings_.size()) strings_.emplace_back();
  strings_[size_t(elements_)].swap(text);
  return count_one();
}

template <class T>
Result<void> JsonGatherer::add(T value) {
  const size_t at = bytes_.size();
  bytes_.resize(at + sizeof value);
  std::memcpy(bytes_.data() + at, &value, sizeof value);
  return count_one();
}

Result<void> JsonGatherer::begin_list() {
  if (wants_element()) return mismatch(JsonKind::kList);
  counts_.push_back(0);
  return {};
}

Result<void> JsonGatherer::end_list() {
  const int64_t wanted = wanted_size(), found = counts_.back();
  if (wanted >= 0 && found != wanted) {
    return wrong("has a list of " + std::to_string(found) + ", expected " + std::to_string(wanted) + " by its shape " +
                 to_string(Shape(field_->shape)));
  }
  counts_.pop_back();
  return count_one();
}

Result<void> JsonGatherer::count_one() {
  // Called after an element and after the end of an inner list. Only elements count: wants_element() is false after a list.
  elements_ += wants_element();
  if (counts_.empty()) {
    is_done_ = true;
    return {};
  }
  const int64_t wanted = wanted_size();
  if (++counts_.back() <= wanted || wanted < 0) return {};
  return wrong("has a list of more than " + std::to_string(wanted) + ", its size by its shape " +
               to_string(Shape(field_->shape)));
}

Error JsonGatherer::wrong(const std::string& what) const {
  return invalid_argument("field " + shown_text(field_->name) + " " + what);
}

Error JsonGatherer::mismatch(JsonKind found, std::string_view text) const {
  const std::string wanted = wants_element()    ? expected_element(field_->dtype)
                             : field_->variable ? "a list"
                                                : "a list of " + std::to_string(field_->shape[counts_.size()]);
  std::string shown(json_kind_text(found));
  if (found == JsonKind::kString) shown = "the string \"" + shown_text(text) + "\"";
  if (found == JsonKind::kBool || found == JsonKind::kNumber) shown = shown_text(text);
  return wrong((counts_.empty() ? "is " : "has in its list ") + shown + ", expected " + wanted);
}

void JsonGatherer::store(Tensor& tensor) {
  ready_json_tensor(tensor, field_->dtype, field_->variable ? Shape{elements_} : Shape(field_->shape));
  if (field_->dtype == DType::kString) {
    for (size_t i = 0; i < size_t(elements_); ++i) tensor.mutable_strings()[i].swap(strings_[i]);
  } else if (!bytes_.empty()) {
    std::memcpy(tensor.mutable_view().data, bytes_.data(), bytes_.size());
  }
}

void store_missing(const JsonField& field, Tensor& tensor) {
  const Tensor& missing = *field.missing;
  const Shape shape(field.shape);
  if (field.variable || missing.shape() == shape) {
    tensor = missing;  // Shares the storage.
    return;
  }
  ready_json_tensor(tensor, field.dtype, shape);
  if (field.dtype == DType::kString) {
    for (std::string& text : tensor.mutable_strings()) text = missing.strings()[0];
    return;
  }
  const size_t width = size_of(field.dtype);
  for (size_t i = 0; i < size_t(tensor.elements()); ++i)
    std::memcpy(tensor.mutable_view().data + i * width, missing.view().data, width);
}

Result<void> check_json_field(const JsonField& field) {
  const auto wrong = [&](const std::string& what) {
    return invalid_argument("json_lines: field " + field.name + " " + what);
  };
  if (!has_json_values(field.dtype)) {
    return wrong("cannot be " + std::string(to_string(field.dtype)) + "; choose string, float32, int64, int32 or bool");
  }
  if (field.variable && !field.shape.empty()) return wrong("has a shape and is variable as well; give one of both");
  const Result<Shape> shape = Shape::checked(field.shape);
  if (!shape) return wrong("has a shape that cannot be: " + shape.error().message());
  if (shape->elements() > (int64_t(1) << 30)) return wrong("has more than 2^30 elements");
  if (!field.missing) return {};
  const Tensor& missing = *field.missing;
  const bool fits = field.variable ? missing.shape().rank() == 1 : missing.shape() == *shape || missing.shape() == Shape{};
  if (missing.dtype() == field.dtype && fits) return {};
  return wrong("has a value for missing ones of the type " + std::string(to_string(missing.dtype())) + " and the shape " +
               to_string(missing.shape()) + "; give one of its own type and shape" +
               (field.variable ? ", a list" : ", or a scalar"));
}

}  // namespace shoal::data
