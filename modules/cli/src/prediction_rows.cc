// SPDX-License-Identifier: Apache-2.0
#include "prediction_rows.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "json_out.h"
#include "shoal/base/names_text.h"
#include "shoal/base/nearest_text.h"
#include "shoal/base/number_text.h"
#include "shoal/data/csv_columns.h"
#include "shoal/data/csv_reader.h"
#include "shoal/json/values.h"

namespace shoal::cli {
namespace {

/// Predictions to print: for each its name in the output, and the key that it has in the result of
/// ExportedModel::predict().
using NamedKeys = std::vector<std::pair<std::string, std::string>>;

std::string field_of(const Tensor& tensor, int64_t index, char separator) {
  if (tensor.dtype() == DType::kString) return data::csv_field(tensor.strings()[size_t(index)], separator);
  const Json value = json::element_json(tensor, index);
  return data::csv_field(value.is_string() ? value.get<std::string>() : json::text_of(value), separator);
}

/// The value of a copied field in JSON: text, or, if the model reads the column as numbers, the number, and null without one.
Json copied_json(const std::string& text, bool is_number) {
  if (!is_number) return text;
  const data::ParsedCsvField parsed = data::parse_csv_field(text);
  if (parsed.kind == data::CsvFieldKind::kFraction && std::isfinite(parsed.number)) return parsed.number;
  if (parsed.kind != data::CsvFieldKind::kWhole) return nullptr;
  const size_t begin = text.find_first_not_of(" \t+"), end = text.find_last_not_of(" \t") + 1;
  const auto whole = number_from<int64_t>(std::string_view(text).substr(begin, end - begin));
  return whole ? Json(*whole) : Json(parsed.number);
}

int64_t values_in(const RowOutput& output) { return Shape(output.row_shape).elements(); }

Result<RowOutput> output_of(const ExportedModel& model, const std::string& name, const std::string& key) {
  const auto tensor = std::find_if(model.outputs().begin(), model.outputs().end(),
                                   [&](const ExportedTensor& one) { return one.name == key; });
  // Loading an export has checked that its signatures name existing predictions.
  SHOAL_CHECK(tensor != model.outputs().end());
  const std::vector<int64_t>& shape = tensor->shape;
  const bool by_row =
      !shape.empty() && shape[0] < 0 && std::all_of(shape.begin() + 1, shape.end(), [](int64_t size) { return size >= 0; });
  if (!by_row) return invalid_argument("prediction \"" + name + "\" is not one for each row; leave it out with --keys");
  return RowOutput{name.empty() ? "prediction" : name, key, {shape.begin() + 1, shape.end()}};
}

Result<NamedKeys> named_by(const ExportedModel& model, const std::string& signature) {
  NamedKeys named;
  if (signature.empty()) {
    for (const ExportedTensor& output : model.outputs()) named.emplace_back(output.name, output.name);
    return named;
  }
  std::string names;
  for (const nn::ExportSignature& one : model.signatures()) {
    if (one.name == signature) return one.outputs;
    names += (names.empty() ? "" : ", ") + one.name;
  }
  return invalid_argument("the export has no signature " + signature + "; there are: " + names);
}

Error unknown_key(const std::string& key, const NamedKeys& named) {
  std::vector<std::string> names;
  for (const auto& [name, of] : named) names.push_back(name.empty() ? "\"\"" : name);
  return invalid_argument("there is no prediction " + key + did_you_mean(key, names) +
                          "; there are: " + comma_separated(names));
}

}  // namespace

Result<std::vector<RowOutput>> choose_outputs(const ExportedModel& model, const std::string& signature,
                                              const std::vector<std::string>& keys) {
  SHOAL_TRY(const auto named, named_by(model, signature));
  NamedKeys chosen;
  for (const std::string& key : keys) {
    const auto at = std::find_if(named.begin(), named.end(), [&](const auto& one) { return one.first == key; });
    if (at == named.end()) return unknown_key(key, named);
    if (std::find(chosen.begin(), chosen.end(), *at) != chosen.end()) {
      return invalid_argument("prediction " + key + " is named twice");
    }
    chosen.push_back(*at);
  }
  std::vector<RowOutput> outputs;
  for (const auto& [name, key] : keys.empty() ? named : chosen) {
    SHOAL_TRY(RowOutput output, output_of(model, name, key));
    outputs.push_back(std::move(output));
  }
  return outputs;
}

Result<void> PredictionRows::write_header() {
  if (format_.json_lines) return {};
  std::vector<std::string> fields;
  std::set<std::string> names;
  std::string twice;
  const auto add = [&](const std::string& name) {
    fields.push_back(data::csv_field(name, format_.separator));
    if (!names.insert(name).second) twice = fields.back();
  };
  for (const CopiedColumn& column : format_.copied) add(column.name);
  for (const RowOutput& output : outputs_) {
    const int64_t values = values_in(output);
    for (int64_t i = 0; i < values; ++i) add(values == 1 ? output.name : output.name + "/" + std::to_string(i));
  }
  if (!twice.empty()) {
    return invalid_argument("two columns of the result would be called " + twice +
                            "; choose others with --keys or --copy, or ask for --json-lines");
  }
  out_ << data::csv_record(fields, format_.separator) << '\n';
  return {};
}

Result<void> PredictionRows::write(std::span<const CopiedFields> rows, const data::TensorMap& predictions) {
  std::vector<const Tensor*> chosen;
  for (const RowOutput& output : outputs_) {
    std::vector<int64_t> expected{int64_t(rows.size())};
    expected.insert(expected.end(), output.row_shape.begin(), output.row_shape.end());
    const Tensor* tensor = predictions.find(output.key);
    if (!tensor || tensor->shape() != Shape(expected)) {
      return data_loss("prediction \"" + output.name + "\" is not what the export says of it: " +
                       (tensor ? to_string(tensor->shape()) : "missing") + ", expected " + to_string(Shape(expected)));
    }
    chosen.push_back(tensor);
  }
  for (size_t i = 0; i < rows.size(); ++i) {
    format_.json_lines ? write_json(rows[i], chosen, int64_t(i)) : write_csv(rows[i], chosen, int64_t(i));
    count(chosen, int64_t(i));
  }
  return {};
}

void PredictionRows::write_csv(const CopiedFields& row, const std::vector<const Tensor*>& predictions, int64_t at) {
  std::vector<std::string> fields;
  for (const std::string& text : row) fields.push_back(data::csv_field(text, format_.separator));
  for (size_t i = 0; i < outputs_.size(); ++i) {
    const int64_t values = values_in(outputs_[i]);
    for (int64_t j = 0; j < values; ++j) fields.push_back(field_of(*predictions[i], at * values + j, format_.separator));
  }
  out_ << data::csv_record(fields, format_.separator) << '\n';
}

void PredictionRows::write_json(const CopiedFields& row, const std::vector<const Tensor*>& predictions, int64_t at) {
  Json line = Json::object();
  for (size_t i = 0; i < row.size(); ++i) {
    line[format_.copied[i].name] = copied_json(row[i], format_.copied[i].is_number);
  }
  for (size_t i = 0; i < outputs_.size(); ++i) line[outputs_[i].name] = json::row_json(*predictions[i], at);
  if (!print_line(out_, line)) ++rows_with_bytes_;
}

void PredictionRows::count(const std::vector<const Tensor*>& predictions, int64_t at) {
  ++rows_;
  const auto has_nan = [at](const Tensor* tensor) {
    if (tensor->dtype() != DType::kFloat32) return false;
    const size_t values = size_t(tensor->elements() / tensor->shape()[0]);
    const auto row = tensor->as<float>().subspan(size_t(at) * values, values);
    return std::any_of(row.begin(), row.end(), [](float value) { return std::isnan(value); });
  };
  if (std::none_of(predictions.begin(), predictions.end(), has_nan)) return;
  if (rows_with_nan_++ == 0) first_with_nan_ = rows_;
}

}  // namespace shoal::cli
