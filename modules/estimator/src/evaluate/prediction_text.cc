// SPDX-License-Identifier: Apache-2.0
#include "evaluate/prediction_text.h"

#include "shoal/data/csv_reader.h"
#include "shoal/json/text.h"
#include "shoal/json/values.h"

namespace shoal {
namespace {

std::string shown(const std::string& name) { return name.empty() ? "prediction" : name; }

std::vector<std::string> columns_of(const data::TensorMap& row) {
  std::vector<std::string> columns;
  for (const auto& [name, tensor] : row) {
    const int64_t values = tensor.elements();
    for (int64_t i = 0; i < values; ++i) {
      columns.push_back(data::csv_field(shown(name) + (values == 1 ? "" : "/" + std::to_string(i))));
    }
  }
  return columns;
}

}  // namespace

Result<void> PredictionText::write(const data::TensorMap& row) {
  ++rows_;
  if (!json_lines_) return write_csv(row);
  write_json(row);
  return {};
}

void PredictionText::write_line(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), out_);
  std::fputc('\n', out_);
}

void PredictionText::write_json(const data::TensorMap& row) {
  json::PrintedJson line = json::PrintedJson::object();
  for (const auto& [name, tensor] : row) line[shown(name)] = json::values_json(tensor);
  write_line(json::text_of(line));  // All names and words are UTF-8: models check that when they are built.
}

Result<void> PredictionText::write_csv(const data::TensorMap& row) {
  std::vector<std::string> columns = columns_of(row);
  if (!header_) {
    header_ = std::move(columns);
    write_line(data::csv_record(*header_));
  } else if (columns != *header_) {
    return invalid_argument("--predict: the predictions for row " + std::to_string(rows_) + " are " +
                            std::to_string(columns.size()) + " values, and those for the first are " +
                            std::to_string(header_->size()) +
                            ", which do not fit into one table; with --json rows may differ");
  }
  std::vector<std::string> fields;
  for (const auto& [name, tensor] : row) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const json::PrintedJson value = json::element_json(tensor, i);
      fields.push_back(value.is_string() ? data::csv_field(value.get<std::string>()) : json::text_of(value));
    }
  }
  write_line(data::csv_record(fields));
  return {};
}

}  // namespace shoal
