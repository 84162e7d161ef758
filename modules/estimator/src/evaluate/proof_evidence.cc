// SPDX-License-Identifier: Apache-2.0
#include "evaluate/proof_evidence.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "shoal/base/finite.h"
#include "shoal/base/format.h"
#include "shoal/json/json.h"
#include "shoal/json/text.h"
#include "shoal/json/values.h"

namespace shoal {
namespace {

constexpr size_t kWorstShown = 5;
constexpr double kUnequal = std::numeric_limits<double>::infinity();

std::string element_text(const Tensor& tensor, int64_t i) {
  const auto at = size_t(i);
  switch (tensor.dtype()) {
    case DType::kFloat32: return formatted("%.9g", double(tensor.as<float>()[at]));
    case DType::kInt32: return std::to_string(tensor.as<int32_t>()[at]);
    case DType::kInt64: return std::to_string(tensor.as<int64_t>()[at]);
    case DType::kUInt8: return std::to_string(tensor.as<uint8_t>()[at]);
    case DType::kBool: return tensor.as<bool>()[at] ? "true" : "false";
    default: return "\"" + tensor.strings()[at] + "\"";
  }
}

/// The distance between element i of the exported form and of Shoal's prediction.
double element_difference(const Tensor& shoal, const Tensor& exported, int64_t i, double scale) {
  if (shoal.dtype() != DType::kFloat32) return element_text(shoal, i) == element_text(exported, i) ? 0 : kUnequal;
  const float a = shoal.as<float>()[size_t(i)], b = exported.as<float>()[size_t(i)];
  if (is_finite(a) && is_finite(b)) return std::fabs(double(a) - double(b)) / scale;
  return a == b || (is_nan(a) && is_nan(b)) ? 0 : kUnequal;
}

/// The largest magnitude of a number in the tensor, or 1 if that is larger.
double scale_of(const Tensor& tensor) {
  double scale = 1;
  if (tensor.dtype() != DType::kFloat32) return scale;
  for (float value : tensor.as<float>()) {
    if (is_finite(value)) scale = std::max(scale, std::fabs(double(value)));
  }
  return scale;
}

std::string described(const Tensor& tensor) {
  return std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape());
}

/// Returns the class of example `row`: the class id that an int64 tensor has for the example, or the index of the largest
/// of its numbers in a float32 tensor.
int64_t class_at(const Tensor& tensor, int64_t row, int64_t rows) {
  const int64_t columns = tensor.elements() / rows;
  if (tensor.dtype() == DType::kInt64) return tensor.as<int64_t>()[size_t(row * columns)];
  const auto numbers = tensor.as<float>().subspan(size_t(row * columns), size_t(columns));
  return std::ranges::max_element(numbers) - numbers.begin();
}

/// The name of the output from which classes are read; "" if there is none.
std::string class_output(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported) {
  if (shoal.find("class_ids") && exported.contains("class_ids")) return "class_ids";
  for (const auto& [name, tensor] : shoal) {
    const auto& shape = tensor.shape();
    const bool has_columns = shape.rank() > 1 && shape[shape.rank() - 1] > 1;
    if (tensor.dtype() == DType::kFloat32 && has_columns && exported.contains(name)) return name;
  }
  return "";
}

}  // namespace

std::string ProofDifference::text() const {
  return "example " + std::to_string(example) + ", output \"" + output + "\": " + exported + " where Shoal has " + shoal;
}

void ProofEvidence::add(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported,
                        const data::TensorMap& labels, int64_t rows) {
  for (const auto& [name, expected] : shoal) {
    const auto found = exported.find(name);
    if (found != exported.end()) add_output(name.empty() ? "predictions" : name, expected, found->second, rows);
  }
  if (rule_ == ProofRule::kAccuracy) count_classes(shoal, exported, labels, rows);
  examples_ += rows;
}

void ProofEvidence::add_output(const std::string& name, const Tensor& shoal, const Tensor& exported, int64_t rows) {
  double& largest = largest_[name];
  if (shoal.dtype() != exported.dtype() || shoal.shape() != exported.shape()) {
    largest = kUnequal;
    for (int64_t row = 0; row < rows; ++row)
      disagree({examples_ + row, name, kUnequal, described(shoal), described(exported)});
    return;
  }
  const double scale = scale_of(shoal);
  const int64_t columns = rows == 0 ? 0 : shoal.elements() / rows;
  for (int64_t row = 0; row < rows; ++row) {
    double worst = 0;
    int64_t at = 0;
    for (int64_t i = row * columns; i < (row + 1) * columns; ++i) {
      const double size = element_difference(shoal, exported, i, scale);
      if (size > worst) worst = size, at = i;
    }
    largest = std::max(largest, worst);
    if (worst > tolerance_) disagree({examples_ + row, name, worst, element_text(shoal, at), element_text(exported, at)});
  }
}

void ProofEvidence::count_classes(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported,
                                  const data::TensorMap& labels, int64_t rows) {
  const std::string output = class_output(shoal, exported);
  if (output.empty() || rows == 0) return;
  has_classes_ = true;
  const bool labelled =
      labels.is_single() && labels.single().dtype() == DType::kInt64 && labels.single().elements() == rows;
  const Tensor& expected = shoal[output];
  const Tensor& found = exported.at(output);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t of_shoal = class_at(expected, row, rows);
    const int64_t right = labelled ? labels.single().as<int64_t>()[size_t(row)] : of_shoal;
    shoal_right_ += of_shoal == right;
    exported_right_ += class_at(found, row, rows) == right;
  }
}

void ProofEvidence::disagree(ProofDifference difference) {
  disagreeing_.insert(difference.example);
  const auto place = std::ranges::upper_bound(beyond_, difference.size, std::greater<>(), &ProofDifference::size);
  beyond_.insert(place, std::move(difference));
  if (beyond_.size() > kWorstShown) beyond_.pop_back();
}

double ProofEvidence::lost_accuracy() const {
  return examples_ == 0 ? 0 : double(shoal_right_ - exported_right_) / double(examples_);
}

std::string ProofEvidence::json() const {
  json::PrintedJson json{{"form", form_}, {"examples", examples_}};
  if (!counts_classes()) {
    json["tolerance"] = tolerance_;
  } else {
    json["accuracy_loss_max"] = accuracy_loss_;
    json["accuracy_loss"] = lost_accuracy();
  }
  json["outputs"] = json::PrintedJson::object();
  for (const auto& [name, largest] : largest_) json["outputs"][name] = {{"largest_difference", json::number_json(largest)}};
  return json::text_of(json, 2) + "\n";
}

std::string ProofEvidence::refusal() const {
  std::string text = "not published, since its " + form_;
  if (largest_.empty()) return text + " has no output that can be compared";
  if (counts_classes()) {
    if (lost_accuracy() <= accuracy_loss_) return "";
    text += " loses " + formatted("%.4g", lost_accuracy()) + " of the accuracy on " + std::to_string(examples_) +
            " held-out examples, and may lose " + formatted("%.4g", accuracy_loss_);
  } else {
    if (beyond_.empty()) return "";
    text += " disagrees with Shoal's predictions on " + std::to_string(disagreeing_.size()) + " of " +
            std::to_string(examples_) + " held-out examples (tolerance " + formatted("%g", tolerance_) + ")";
  }
  for (size_t i = 0; i < beyond_.size(); ++i) text += (i == 0 ? "; the worst: " : "; ") + beyond_[i].text();
  return text;
}

}  // namespace shoal
