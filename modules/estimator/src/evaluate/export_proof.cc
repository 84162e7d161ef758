// SPDX-License-Identifier: Apache-2.0
#include "evaluate/export_proof.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

#include "evaluate/predictor.h"
#include "model/rest.h"
#include "shoal/base/finite.h"
#include "shoal/base/format.h"
#include "shoal/convert/onnx.h"
#include "shoal/convert/onnx_model.h"
#include "shoal/graph/text_ids.h"
#include "shoal/json/json.h"
#include "task/run_seed.h"
#include "task/task_network.h"

namespace shoal {
namespace {

constexpr size_t kWorstShown = 5;
constexpr double kUnequal = std::numeric_limits<double>::infinity();

/// One example of which the two forms disagree.
struct Difference {
  int64_t example = 0;
  std::string output;
  double size = 0;  ///< As ExportProof::tolerance; infinite where the values are no float32.
  std::string shoal, exported;

  std::string text() const {
    return "example " + std::to_string(example) + ", output \"" + output + "\": " + exported + " where Shoal has " + shoal;
  }
};

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

/// How far element i of the exported form is from Shoal's.
double element_difference(const Tensor& shoal, const Tensor& exported, int64_t i, double scale) {
  if (shoal.dtype() != DType::kFloat32) {
    return element_text(shoal, i) == element_text(exported, i) ? 0 : kUnequal;
  }
  const float a = shoal.as<float>()[size_t(i)], b = exported.as<float>()[size_t(i)];
  if (is_finite(a) && is_finite(b)) return std::fabs(double(a) - double(b)) / scale;
  return a == b || (is_nan(a) && is_nan(b)) ? 0 : kUnequal;
}

/// The largest magnitude of a number, or 1 if that is larger.
double scale_of(const Tensor& tensor) {
  double scale = 1;
  if (tensor.dtype() != DType::kFloat32) return scale;
  for (float value : tensor.as<float>()) {
    if (is_finite(value)) scale = std::max(scale, std::fabs(double(value)));
  }
  return scale;
}

/// What was compared so far.
class Evidence {
 public:
  explicit Evidence(double tolerance) : tolerance_(tolerance) {}

  /// The outputs of one batch.
  Result<void> add(const data::TensorMap& shoal, const std::map<std::string, Tensor>& exported, int64_t rows) {
    for (const auto& [key, expected] : shoal) {
      const std::string name = key.empty() ? "predictions" : key;
      const auto found = exported.find(name);
      if (found == exported.end()) return data_loss("the exported file has no output \"" + name + "\"");
      add_output(name, expected, found->second, rows);
    }
    examples_ += rows;
    return {};
  }
  int64_t examples() const { return examples_; }

  std::string json(std::string_view form) const {
    json::PrintedJson json{{"form", std::string(form)}, {"examples", examples_}, {"tolerance", tolerance_}};
    json["outputs"] = json::PrintedJson::object();
    for (const auto& [name, largest] : largest_) json["outputs"][name] = {{"largest_difference", largest}};
    return json.dump(2) + "\n";
  }

  std::string refusal(std::string_view form) const {
    if (beyond_.empty()) return "";
    std::string text = "not published, since its " + std::string(form) + " disagrees with Shoal's predictions on " +
                       std::to_string(count_) + " of " + std::to_string(examples_) + " held-out examples (tolerance " +
                       formatted("%g", tolerance_) + "); the worst: ";
    for (size_t i = 0; i < beyond_.size(); ++i) text += (i == 0 ? "" : "; ") + beyond_[i].text();
    return text;
  }

 private:
  void add_output(const std::string& name, const Tensor& shoal, const Tensor& exported, int64_t rows) {
    double& largest = largest_[name];
    if (shoal.dtype() != exported.dtype() || shoal.shape() != exported.shape()) {
      largest = kUnequal;
      for (int64_t row = 0; row < rows; ++row) disagree({examples_ + row, name, kUnequal, described(shoal), described(exported)});
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
      if (worst > tolerance_)
        disagree({examples_ + row, name, worst, element_text(shoal, at), element_text(exported, at)});
    }
  }

  static std::string described(const Tensor& tensor) {
    return std::string(to_string(tensor.dtype())) + " " + to_string(tensor.shape());
  }

  void disagree(Difference difference) {
    if (difference.example != last_) ++count_;
    last_ = difference.example;
    const auto place = std::ranges::upper_bound(beyond_, difference.size, std::greater<>(), &Difference::size);
    beyond_.insert(place, std::move(difference));
    if (beyond_.size() > kWorstShown) beyond_.pop_back();
  }

  double tolerance_;
  int64_t examples_ = 0, count_ = 0, last_ = -1;
  std::map<std::string, double> largest_;
  std::vector<Difference> beyond_;  // The largest first.
};

/// What the file is called with: features, and ids that Shoal has made of them.
Result<std::map<std::string, Tensor>> inputs_of_file(const convert::OnnxModel& file, const convert::OnnxFile& onnx,
                                                     Predictor& predictor, const data::Batch& batch) {
  std::map<std::string, Tensor> inputs;
  for (const auto& input : file.inputs()) {
    const std::string& name = input.name;
    const Tensor* feature = batch.features.find(batch.features.is_single() && name == "features" ? "" : name);
    if (feature) {
      inputs.emplace(name, *feature);
      continue;
    }
    const auto ids = std::ranges::find(onnx.transformed, name, &convert::TransformedInput::name);
    if (ids == onnx.transformed.end()) return data_loss("the exported file has an input \"" + name + "\" that is no feature");
    const Value value = predictor.model().graph().find(ids->node);
    SHOAL_TRY(auto computed, predictor.compute_once({{name, value}}, batch));
    inputs.emplace(name, std::move(computed[0].second));
  }
  return inputs;
}

}  // namespace

Result<Proof> prove_onnx(const FormToWrite& to, const convert::OnnxFile& onnx, std::unique_ptr<BuiltModel> model,
                         LoadedVariables variables) {
  const std::string form = "ONNX file";
  SHOAL_TRY(const convert::OnnxModel file, convert::OnnxModel::parse(onnx.bytes));
  SHOAL_TRY_VOID(set_up_computation(to.env, to.estimator.config(), *model));
  SHOAL_TRY(const auto predictor, Predictor::make(std::move(model), std::move(variables), {}));
  const std::optional<int64_t> seed = seed_of_run(to.env, to.estimator.config(), to.estimator.model_dir());
  SHOAL_TRY(const OpenedInput input, open_input(to.env, to.estimator, to.options.proof.input, Mode::kPredict, seed,
                                                stop_of_call(to.estimator.config())));
  Evidence evidence(to.options.proof.tolerance);
  data::Batch batch;
  while (evidence.examples() < to.options.proof.examples) {
    SHOAL_TRY(const bool any, input.iterator->next(batch));
    if (!any) break;
    SHOAL_TRY(const data::TensorMap expected, predictor->predict(batch));
    SHOAL_TRY(const auto inputs, inputs_of_file(file, onnx, *predictor, batch));
    SHOAL_TRY(const auto computed, file.run(inputs));
    SHOAL_TRY(const int64_t rows, batch_size(batch));
    SHOAL_TRY_VOID(evidence.add(expected, computed, rows));
  }
  if (evidence.examples() == 0) return invalid_argument("export: the input of the proof gave no batch");
  return Proof{evidence.json(form), evidence.refusal(form)};
}

}  // namespace shoal
