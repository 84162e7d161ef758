// SPDX-License-Identifier: Apache-2.0
// Text lines and CSV: the records of files, one file after another.
#include "csv_record.h"
#include "nodes.h"
#include "text_stage.h"

namespace shoal::data {
namespace {

/// Each line is an element.
struct LineParser {
  static bool is_passed_over(std::string_view) { return false; }
  static size_t error_at() { return 0; }
  static Result<void> follow(const RecordReader&, std::string_view) { return {}; }
  Result<void> parse(std::string_view record, Element& element) {
    if (!element.features.is_single()) element.features = TensorMap(Tensor());
    element.labels = TensorMap();
    Tensor& line = *element.features.find("");
    if (line.dtype() != DType::kString || line.shape() != Shape{} || !line.unique()) line = Tensor(DType::kString, Shape{});
    line.mutable_strings()[0].assign(record);
    return {};
  }
};

struct RecordParser : CsvParser {
  static bool is_passed_over(std::string_view record) { return record.empty(); }
  using CsvParser::CsvParser;
  Result<void> follow(const RecordReader& reader, std::string_view header) { return follow_header(reader, header, *this); }
};

class LinesNode final : public TextNode {
 public:
  using TextNode::TextNode;
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<TextStage<LineParser>>(files_, LineParser(), context);
  }
  std::string_view kind() const override { return "text_lines"; }
  RandomKey fold_parameters(RandomKey key) const override { return fold_files(fold_in(key, "text_lines"), files_); }
};

class CsvNode final : public TextNode {
 public:
  CsvNode(TextFiles files, CsvOptions options) : TextNode(std::move(files)), options_(std::move(options)) {}
  Result<std::unique_ptr<Stage>> make_stage(StageContext& context) const override {
    return std::make_unique<TextStage<RecordParser>>(files_, RecordParser(options_), context);
  }
  std::string_view kind() const override { return "csv"; }
  /// Takes the options apart with all their members, so that a new option does not compile until somebody has decided
  /// whether it changes elements. Of options that came later, only values other than the default go into the key: so older
  /// positions and files of cache() stay valid. line_bytes_max is left out, since it changes no element.
  RandomKey fold_parameters(RandomKey key) const override {
    const auto& [columns, labels, unused, separator, header_lines, by_position, missing_text, trim_blanks, quoting,
                 missing_labels, line_bytes_max] = options_;
    key = fold_files(fold_in(key, "csv"), files_);  // Also folds header_lines.
    for (const CsvColumn& column : columns) {
      key = fold_in(fold_in(fold_in(key, column.name), uint64_t(column.dtype)), column.missing.value_or(""));
    }
    for (const auto* names : {&labels, &unused}) {
      for (const std::string& name : *names) key = fold_in(key, name);
      key = fold_in(key, names->size());
    }
    key = fold_in(fold_in(fold_in(key, uint64_t(separator)), missing_text), uint64_t(trim_blanks));
    if (by_position) key = fold_in(key, "by_position");
    if (!quoting) key = fold_in(key, "no quoting");
    if (missing_labels) key = fold_in(key, "missing labels");
    for (size_t i = 0; i < columns.size(); ++i) key = fold_later_options(key, columns[i], i);
    return key;
  }

 private:
  static RandomKey fold_later_options(RandomKey key, const CsvColumn& column, size_t index) {
    const auto& [name, dtype, missing, header, repeated] = column;
    if (header) key = fold_in(fold_in(fold_in(key, "header"), index), *header);
    if (repeated) key = fold_in(fold_in(key, "repeated"), index);
    return key;
  }

  const CsvOptions options_;
};

}  // namespace

NodePtr make_text_lines_node(std::vector<std::string> paths, const TextLinesOptions& options) {
  return std::make_shared<LinesNode>(
      TextFiles{std::move(paths), {.record_bytes_max = options.line_bytes_max}, options.header_lines});
}

NodePtr make_csv_node(std::vector<std::string> paths, CsvOptions options) {
  TextFiles files{
      std::move(paths), {.record_bytes_max = options.line_bytes_max, .table = syntax_of(options)}, options.header_lines};
  return std::make_shared<CsvNode>(std::move(files), std::move(options));
}

}  // namespace shoal::data
