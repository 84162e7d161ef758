// SPDX-License-Identifier: Apache-2.0
#include "json_line.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "csv_syntax.h"
#include "item.h"
#include "shoal/base/utf8.h"

namespace shoal::data {
namespace {

constexpr int kJsonDepthMax = 100;

/// Returns the keys that lead to a field.
std::vector<std::string> keys_of(const JsonField& field) {
  if (field.path.empty()) return {field.name};
  std::vector<std::string> keys(1);
  for (const char c : field.path) {
    if (c == '.') {
      keys.emplace_back();
    } else {
      keys.back() += c;
    }
  }
  return keys;
}

}  // namespace

Result<JsonTree> JsonTree::of(const std::vector<JsonField>& fields) {
  JsonTree tree;
  for (size_t i = 0; i < fields.size(); ++i) SHOAL_TRY_VOID(tree.add(fields[i], i));
  return tree;
}

Result<void> JsonTree::add(const JsonField& field, size_t index) {
  size_t at = kRoot;
  const auto taken = [&] {
    return invalid_argument("json_lines: the path of field " + field.name +
                            " is that of another field, or lies inside of one, or around one");
  };
  for (const std::string& key : keys_of(field)) {
    if (nodes_[at].field != kNowhere) return taken();
    const auto [child, fresh] = nodes_[at].children.emplace(key, nodes_.size());
    at = child->second;
    if (fresh) nodes_.emplace_back();
  }
  if (nodes_[at].field != kNowhere || !nodes_[at].children.empty()) return taken();
  nodes_[at].field = index;
  return {};
}

size_t JsonTree::child(size_t node, std::string_view key) const {
  const auto found = nodes_[node].children.find(key);
  return found == nodes_[node].children.end() ? kNowhere : found->second;
}

size_t JsonTree::field_below(size_t node) const {
  while (nodes_[node].field == kNowhere) node = nodes_[node].children.begin()->second;
  return nodes_[node].field;
}

Result<void> check_json_lines(const JsonLinesOptions& options) {
  if (options.line_bytes_max < 1) return invalid_argument("json_lines: line_bytes_max must be at least 1");
  std::vector<std::string> names;
  for (const JsonField& field : options.fields) {
    SHOAL_TRY_VOID(check_json_field(field));
    SHOAL_TRY_VOID(check_utf8(field.name, "json_lines: the name of a field", "give it another name, and its key as path"));
    names.push_back(field.name);
  }
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    return invalid_argument("json_lines: field " + *twice + " is named twice");
  }
  std::vector<std::string> labels = options.labels;
  std::ranges::sort(labels);
  if (const auto twice = std::ranges::adjacent_find(labels); twice != labels.end()) {
    return invalid_argument("json_lines: label " + *twice + " is named twice");
  }
  for (const std::string& label : labels) {
    if (!std::ranges::binary_search(names, label))
      return invalid_argument("json_lines: there is no field " + label + " for the label of that name");
  }
  if (labels.size() == names.size()) return invalid_argument("json_lines: no field becomes a feature");
  const auto tree = JsonTree::of(options.fields);
  return tree ? Result<void>() : tree.error();
}

JsonLineParser::JsonLineParser(const JsonLinesOptions& options)
    : options_(options), tree_(value_or_raise(JsonTree::of(options.fields))) {
  for (const JsonField& field : options_.fields) {
    const bool label = std::ranges::find(options_.labels, field.name) != options_.labels.end();
    targets_.push_back({.label = label});
    (label ? label_names_ : feature_names_).push_back(field.name);
  }
  std::ranges::sort(feature_names_);  // A TensorMap has the same order, so the same indexes fit both.
  std::ranges::sort(label_names_);
  for (size_t i = 0; i < targets_.size(); ++i) {
    const auto& names = targets_[i].label ? label_names_ : feature_names_;
    targets_[i].index = size_t(std::ranges::lower_bound(names, options_.fields[i].name) - names.begin());
  }
  if (label_names_.size() == 1) label_names_[0].clear();
}

Result<void> JsonLineParser::parse(std::string_view line, Element& element) {
  ready_names(element.features, feature_names_);
  ready_names(element.labels, label_names_);
  element_ = &element;
  objects_.clear();
  next_ = JsonTree::kRoot;
  passed_over_ = 0;
  gathering_ = JsonTree::kNowhere;
  for (Target& target : targets_) target.found = false;
  SHOAL_TRY_VOID(json::read_events(line, kJsonDepthMax, *this));
  return store_missing_fields();
}

JsonLineParser::Place JsonLineParser::place_of_value() {
  if (gathering_ != JsonTree::kNowhere) return Place::kField;
  if (passed_over_ > 0 || next_ == JsonTree::kNowhere) return Place::kNowhere;
  if (tree_[next_].field == JsonTree::kNowhere) return Place::kObject;
  gathering_ = tree_[next_].field;
  gatherer_.begin(options_.fields[gathering_]);
  return Place::kField;
}

/// Handles a value that is neither a list nor an object. If a field needs it, `give_it` passes it to gatherer_.
template <class Give>
Result<void> JsonLineParser::give(JsonKind kind, const Give& give_it) {
  switch (place_of_value()) {
    case Place::kNowhere: return {};
    case Place::kObject: return no_object(kind);
    case Place::kField: break;
  }
  SHOAL_TRY_VOID(give_it());
  return store_if_done();
}

Result<void> JsonLineParser::store_if_done() {
  if (!gatherer_.is_done()) return {};
  const size_t field = std::exchange(gathering_, JsonTree::kNowhere);
  Tensor& tensor = tensor_of(field);
  gatherer_.store(tensor);
  targets_[field].found = true;
  const bool is_sound = !targets_[field].label || tensor.dtype() != DType::kFloat32 ||
                        std::ranges::all_of(tensor.as<float>(), [](float number) { return std::isfinite(number); });
  if (is_sound) return {};
  return invalid_argument("the label, field " + shown_text(options_.fields[field].name) +
                          ", has a number that is beyond what float32 holds");
}

Tensor& JsonLineParser::tensor_of(size_t field) {
  const Target& target = targets_[field];
  TensorMap& map = target.label ? element_->labels : element_->features;
  return (map.begin() + ptrdiff_t(target.index))->second;
}

Error JsonLineParser::no_object(JsonKind found) const {
  const std::string kind = found == JsonKind::kList ? "a list" : found == JsonKind::kNull ? "null" : "a value";
  if (next_ == JsonTree::kRoot) return invalid_argument("the line has " + kind + ", and no JSON object");
  const JsonField& field = options_.fields[tree_.field_below(next_)];
  return invalid_argument("field " + shown_text(field.name) + " lies at " + shown_text(field.path) + ", and there is " +
                          kind + " in the place of an object on that path");
}

Result<void> JsonLineParser::null() {
  const bool is_whole = gathering_ == JsonTree::kNowhere;
  switch (place_of_value()) {
    case Place::kNowhere: return {};
    case Place::kObject: return next_ == JsonTree::kRoot ? no_object(JsonKind::kNull) : Result<void>();
    case Place::kField: break;
  }
  if (!is_whole) return gatherer_.mismatch(JsonKind::kNull);
  gathering_ = JsonTree::kNowhere;  // Drops the field: a null counts as a missing value.
  return {};
}

Result<void> JsonLineParser::boolean(bool value) {
  return give(JsonKind::kBool, [&] { return gatherer_.boolean(value); });
}
Result<void> JsonLineParser::number(std::string_view text) {
  return give(JsonKind::kNumber, [&] { return gatherer_.number(text); });
}
Result<void> JsonLineParser::string(std::string& text) {
  return give(JsonKind::kString, [&] { return gatherer_.string(text); });
}

Result<void> JsonLineParser::begin_list() {
  const Place place = place_of_value();
  if (place == Place::kNowhere) return ++passed_over_, Result<void>();
  return place == Place::kObject ? no_object(JsonKind::kList) : gatherer_.begin_list();
}

Result<void> JsonLineParser::end_list() {
  if (gathering_ == JsonTree::kNowhere) return --passed_over_, Result<void>();
  SHOAL_TRY_VOID(gatherer_.end_list());
  return store_if_done();
}

Result<void> JsonLineParser::begin_object() {
  const Place place = place_of_value();
  if (place == Place::kNowhere) return ++passed_over_, Result<void>();
  if (place == Place::kField) return gatherer_.mismatch(JsonKind::kObject);
  objects_.push_back(next_);
  return {};
}

Result<void> JsonLineParser::key(std::string_view text) {
  if (passed_over_ == 0) next_ = tree_.child(objects_.back(), text);
  return {};
}

Result<void> JsonLineParser::end_object() {
  if (passed_over_ > 0) {
    --passed_over_;
  } else {
    objects_.pop_back();
  }
  return {};
}

Result<void> JsonLineParser::store_missing_fields() {
  for (size_t i = 0; i < targets_.size(); ++i) {
    if (targets_[i].found) continue;
    const JsonField& field = options_.fields[i];
    if (field.missing) {
      store_missing(field, tensor_of(i));
      continue;
    }
    const std::string place = field.path.empty() ? std::string() : " (" + shown_text(field.path) + ")";
    return invalid_argument((targets_[i].label ? "the label, field " : "field ") + shown_text(field.name) + place +
                            " is missing, or null, and has no value for that; give it one (JsonField::missing)");
  }
  return {};
}

}  // namespace shoal::data
