// SPDX-License-Identifier: Apache-2.0
// JSON lines: the objects of files, one file after another.
#include "shoal/data/json_lines.h"

#include "json_line.h"
#include "nodes.h"
#include "text_stage.h"

namespace shoal::data {
namespace {

/// Adapts JsonLineParser to TextStage.
class JsonRecordParser {
 public:
  explicit JsonRecordParser(const JsonLinesOptions& options) : parser_(options) {}
  static bool is_passed_over(std::string_view record) {
    return record.find_first_not_of(" \t\r") == std::string_view::npos;
  }
  static size_t error_at() { return 0; }
  static Result<void> follow(const RecordReader&, std::string_view) { return {}; }
  Result<void> parse(std::string_view record, Element& element) { return parser_.parse(record, element); }

 private:
  JsonLineParser parser_;
};

RandomKey fold_missing(RandomKey key, const std::optional<Tensor>& missing) {
  if (!missing) return fold_in(key, uint64_t(0));
  key = fold_in(fold_in(key, uint64_t(1)), to_string(missing->shape()));
  if (missing->dtype() != DType::kString) {
    return fold_in(key, std::string_view(reinterpret_cast<const char*>(missing->view().data), missing->bytes()));
  }
  for (const std::string& text : missing->strings()) key = fold_in(key, text);
  return key;
}

/// Takes the options of the field apart with all their members, so that a new option does not compile until somebody has
/// decided whether it changes elements.
RandomKey fold_field(RandomKey key, const JsonField& field) {
  const auto& [name, dtype, shape, variable, path, missing] = field;
  key = fold_in(fold_in(fold_in(key, name), uint64_t(dtype)), path);
  for (const int64_t size : shape) key = fold_in(key, uint64_t(size));
  key = fold_in(fold_in(key, uint64_t(shape.size())), uint64_t(variable));
  return fold_missing(key, missing);
}

class JsonLinesNode final : public TextNode {
 public:
  JsonLinesNode(TextFiles files, JsonLinesOptions options) : TextNode(std::move(files)), options_(std::move(options)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<TextStage<JsonRecordParser>>(files_, JsonRecordParser(options_), context);
  }
  std::string_view kind() const override { return "json_lines"; }
  RandomKey fold_parameters(RandomKey key) const override {
    key = fold_files(fold_in(key, "json_lines"), files_);
    for (const JsonField& field : options_.fields) key = fold_field(key, field);
    for (const std::string& name : options_.labels) key = fold_in(key, name);
    return fold_in(fold_in(key, options_.fields.size()), options_.labels.size());
  }

 private:
  const JsonLinesOptions options_;
};

}  // namespace

NodePtr make_json_lines_node(std::vector<std::string> paths, JsonLinesOptions options) {
  TextFiles files{std::move(paths), {.record_bytes_max = options.line_bytes_max}, 0};
  return std::make_shared<JsonLinesNode>(std::move(files), std::move(options));
}

}  // namespace shoal::data
