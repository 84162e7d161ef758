#include "evaluate/prediction_text.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "shoal/data/csv_reader.h"

namespace shoal {
namespace {

using Json = nlohmann::ordered_json;

/// With the fewest digits that are this float and no other. JSON has no numbers for those that are not finite.
Json number_json(float value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  char digits[32];
  const auto written = std::to_chars(std::begin(digits), std::end(digits), value);
  double nearest = 0;
  std::from_chars(std::begin(digits), written.ptr, nearest);
  return nearest;
}

Json element_json(const Tensor& tensor, int64_t index) {
  const auto at = size_t(index);
  switch (tensor.dtype()) {
    case DType::kFloat32: return number_json(tensor.as<float>()[at]);
    case DType::kInt32: return tensor.as<int32_t>()[at];
    case DType::kInt64: return tensor.as<int64_t>()[at];
    case DType::kUInt8: return uint8_t(tensor.view().data[at]);
    case DType::kBool: return tensor.view().data[at] != std::byte(0);
    case DType::kString: return tensor.strings()[at];
    case DType::kBFloat16:
    case DType::kFloat16: break;
  }
  return nullptr;
}

/// What lies from element `index` on along `axis` and those after it; moves `index` past it.
Json nested(const Tensor& tensor, int axis, int64_t& index) {
  if (axis == tensor.shape().rank()) return element_json(tensor, index++);
  Json list = Json::array();
  for (int64_t i = 0; i < tensor.shape()[axis]; ++i) list.push_back(nested(tensor, axis + 1, index));
  return list;
}

std::string shown(const std::string& name) { return name.empty() ? "prediction" : name; }

std::string record_of(const std::vector<std::string>& fields) {
  if (fields.size() == 1 && fields[0].empty()) return "\"\"";  // An empty line is no record.
  std::string line;
  for (size_t i = 0; i < fields.size(); ++i) line += (i == 0 ? "" : ",") + fields[i];
  return line;
}

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

void PredictionText::write_json(const data::TensorMap& row) {
  Json line = Json::object();
  for (const auto& [name, tensor] : row) {
    int64_t index = 0;
    line[shown(name)] = nested(tensor, 0, index);
  }
  out_ << line.dump() << '\n';  // Text is a name of a vocabulary, which is UTF-8.
}

Result<void> PredictionText::write_csv(const data::TensorMap& row) {
  std::vector<std::string> columns = columns_of(row);
  if (!header_) {
    header_ = std::move(columns);
    out_ << record_of(*header_) << '\n';
  } else if (columns != *header_) {
    return invalid_argument("--predict: the predictions for row " + std::to_string(rows_) + " are " +
                            std::to_string(columns.size()) + " values, and those for the first are " +
                            std::to_string(header_->size()) + ", which a table cannot say; with --json rows may differ");
  }
  std::vector<std::string> fields;
  for (const auto& [name, tensor] : row) {
    for (int64_t i = 0; i < tensor.elements(); ++i) {
      const Json value = element_json(tensor, i);
      fields.push_back(value.is_string() ? data::csv_field(value.get<std::string>()) : value.dump());
    }
  }
  out_ << record_of(fields) << '\n';
  return {};
}

}  // namespace shoal
