// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Makes one element from a line with a JSON object.
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json_fields.h"
#include "shoal/data/element.h"
#include "shoal/data/json_lines.h"
#include "shoal/json/events.h"

namespace shoal::data {

/// InvalidArgument for invalid options: no fields, a name or a path that occurs twice, a field inside of another, a type
/// that JSON does not have, a value for missing fields that does not fit.
Result<void> check_json_lines(const JsonLinesOptions& options);

/// A tree of keys that tells where in an object the fields are.
class JsonTree {
 public:
  static constexpr size_t kRoot = 0, kNowhere = size_t(-1);
  struct Node {
    std::map<std::string, size_t, std::less<>> children;
    size_t field = kNowhere;  ///< The field whose value is at this node, which then has no children.
  };
  /// InvalidArgument if two fields have the same path, or one lies inside of another.
  static Result<JsonTree> of(const std::vector<JsonField>& fields);
  const Node& operator[](size_t index) const { return nodes_[index]; }
  /// Returns the child of `node` for the object key `key`; kNowhere if no field lies at or below that key.
  size_t child(size_t node, std::string_view key) const;
  /// Returns a field that is at or below a node, for errors.
  size_t field_below(size_t node) const;

 private:
  Result<void> add(const JsonField& field, size_t index);
  std::vector<Node> nodes_ = std::vector<Node>(1);
};

/// Makes elements of lines: each field becomes a feature or a label. The caller has checked `options`.
class JsonLineParser final : json::Events {
 public:
  explicit JsonLineParser(const JsonLinesOptions& options);
  /// Makes `element` of a line. InvalidArgument or DataLoss tells what is wrong in the line; the caller adds file and line.
  Result<void> parse(std::string_view line, Element& element);

 private:
  /// The tensor into which a field is written.
  struct Target {
    bool label = false;
    size_t index = 0;    ///< The tensor's index in the element's features or labels.
    bool found = false;  ///< True if the current line has the field.
  };
  Result<void> null() override;
  Result<void> boolean(bool value) override;
  Result<void> number(std::string_view text) override;
  Result<void> string(std::string& text) override;
  Result<void> begin_list() override;
  Result<void> end_list() override;
  Result<void> begin_object() override;
  Result<void> key(std::string_view text) override;
  Result<void> end_object() override;

  enum class Place { kNowhere, kField, kObject };
  /// Tells what to do with a value that begins now. kNowhere: no field needs the value. kField: a field needs it; gatherer_
  /// is ready to store its elements. kObject: it has to be an object, since fields lie inside of it.
  Place place_of_value();
  template <class Give>
  Result<void> give(JsonKind kind, const Give& give_it);
  Error no_object(JsonKind found) const;
  Result<void> store_if_done();
  Tensor& tensor_of(size_t field);
  Result<void> store_missing_fields();

  const JsonLinesOptions options_;
  const JsonTree tree_;
  std::vector<Target> targets_;
  std::vector<std::string> feature_names_, label_names_;

  // The members below are the state of parse() within a line.
  Element* element_ = nullptr;
  std::vector<size_t> objects_;            // For each open JSON object that fields lie in: its node in tree_.
  size_t next_ = JsonTree::kRoot;          // The next value's node in tree_; kNowhere: no field needs the value.
  size_t passed_over_ = 0;                 // How many lists and objects that no field needs are open now.
  size_t gathering_ = JsonTree::kNowhere;  // The field whose value is being read.
  JsonGatherer gatherer_;
};

}  // namespace shoal::data
