// SPDX-License-Identifier: Apache-2.0
#include "onnx_runtime.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <nlohmann/json.hpp>

namespace shoal::convert {
namespace {

using Json = nlohmann::json;

std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return output;
  for (int byte; (byte = fgetc(pipe)) != EOF;) output.push_back(char(byte));
  pclose(pipe);
  return output;
}

bool python_has(const std::string& module) {
  return output_of("/usr/bin/python3 -c 'import " + module + "; print(1)' 2>&1") == "1\n";
}

std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// A folder of this process.
std::string folder() {
  const std::string path = ::testing::TempDir() + "onnx_" + std::to_string(getpid());
  std::filesystem::create_directories(path);
  return path;
}

Json write_tensor(const std::string& name, const Tensor& tensor, const std::string& file) {
  std::ofstream out(file, std::ios::binary);
  if (tensor.dtype() == DType::kString) {
    const auto texts = tensor.strings();
    out << Json(std::vector<std::string>(texts.begin(), texts.end()));
  } else {
    out.write(reinterpret_cast<const char*>(tensor.view().data), std::streamsize(tensor.bytes()));
  }
  const auto dims = tensor.shape().dims();
  return {{"name", name},
          {"type", std::string(to_string(tensor.dtype()))},
          {"shape", std::vector<int64_t>(dims.begin(), dims.end())},
          {"file", file}};
}

Tensor read_tensor(const Json& of) {
  const Shape shape(of.at("shape").get<std::vector<int64_t>>());
  const std::string bytes = contents_of(of.at("file").get<std::string>());
  const auto dtype = dtype_from_string(of.at("type").get<std::string>());
  if (dtype == DType::kString) return Tensor::of_strings(shape, Json::parse(bytes).get<std::vector<std::string>>());
  Tensor tensor(dtype.value(), shape);
  EXPECT_EQ(bytes.size(), tensor.bytes());
  if (bytes.size() == tensor.bytes() && !bytes.empty()) std::memcpy(tensor.mutable_view().data, bytes.data(), bytes.size());
  return tensor;
}

std::string model_file(const OnnxJob& job) {
  const std::string path = folder() + "/" + job.name + ".onnx";
  std::ofstream(path, std::ios::binary) << job.bytes;
  return path;
}

}  // namespace

std::string onnx_runtime_missing() {
  if (python_has("onnxruntime, numpy")) return "";
  const char* modules = std::getenv("SHOAL_NODE_MODULES");
  if (modules && std::filesystem::exists(std::string(modules) + "/onnxruntime-node")) return "";
  return "there is no onnxruntime: neither Debian 13's python3-onnxruntime nor, in the folder SHOAL_NODE_MODULES, npm's "
         "onnxruntime-node";
}

std::string onnx_checker_missing() { return python_has("onnx") ? "" : "there is no python3-onnx"; }

std::vector<OnnxResult> run_onnx(const std::vector<OnnxJob>& jobs) {
  Json list = Json::array();
  for (const OnnxJob& job : jobs) {
    const std::string model = model_file(job);
    Json inputs = Json::array();
    for (const auto& [name, tensor] : job.inputs)
      inputs.push_back(write_tensor(name, tensor, model + ".in" + std::to_string(inputs.size())));
    list.push_back({{"model", model}, {"out", model + ".out"}, {"inputs", inputs}});
  }
  const std::string jobs_file = folder() + "/jobs.json", results_file = folder() + "/results.json";
  std::ofstream(jobs_file) << list;
  const std::string program = python_has("onnxruntime, numpy") ? "/usr/bin/python3 -B " SHOAL_CONVERT_TESTS "/run_onnx.py "
                                                               : "node " SHOAL_CONVERT_TESTS "/run_onnx.js ";
  const std::string said = output_of("timeout 300 " + program + jobs_file + " " + results_file + " 2>&1");
  std::vector<OnnxResult> results(jobs.size());
  const Json written = Json::parse(contents_of(results_file), nullptr, false);
  if (!written.is_array() || written.size() != jobs.size()) {
    for (OnnxResult& result : results) result.error = "no results; the script said: " + said;
    return results;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    results[i].error = written[i].value("error", "");
    if (!results[i].error.empty()) continue;
    for (const Json& output : written[i].at("outputs"))
      results[i].outputs.emplace(output.at("name").get<std::string>(), read_tensor(output));
  }
  std::filesystem::remove_all(folder());
  return results;
}

std::string onnx_findings(const std::vector<OnnxJob>& jobs) {
  std::string command = "/usr/bin/python3 -B " SHOAL_CONVERT_TESTS "/check_onnx.py";
  for (const OnnxJob& job : jobs) command += " " + model_file(job);
  const std::string findings = output_of(command + " 2>&1");
  std::filesystem::remove_all(folder());
  return findings;
}

std::vector<BackendCase> backend_cases() {
  const std::string cases_file = folder() + "/cases.json";
  const std::string said = output_of("/usr/bin/python3 -B " SHOAL_CONVERT_TESTS "/backend_cases.py " + cases_file + " " +
                                     folder() + "/case_ 2>&1");
  std::vector<BackendCase> cases;
  const Json written = Json::parse(contents_of(cases_file), nullptr, false);
  EXPECT_TRUE(written.is_array()) << said;
  for (const Json& one : written.is_array() ? written : Json::array()) {
    BackendCase next{{one.at("name"), contents_of(one.at("model").get<std::string>()), {}}, {}};
    for (const Json& input : one.at("inputs")) next.job.inputs.emplace(input.at("name"), read_tensor(input));
    for (const Json& output : one.at("outputs")) next.expected.emplace(output.at("name"), read_tensor(output));
    cases.push_back(std::move(next));
  }
  std::filesystem::remove_all(folder());
  return cases;
}

double difference(const Tensor& actual, const Tensor& expected) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  if (actual.dtype() != expected.dtype() || actual.shape() != expected.shape()) return kInfinity;
  if (expected.dtype() == DType::kString) {
    return std::ranges::equal(actual.strings(), expected.strings()) ? 0 : kInfinity;
  }
  if (expected.bytes() == 0) return 0;
  if (expected.dtype() != DType::kFloat32) {
    return std::memcmp(actual.view().data, expected.view().data, expected.bytes()) == 0 ? 0 : kInfinity;
  }
  const auto a = actual.as<float>(), e = expected.as<float>();
  double largest = 1, worst = 0;
  for (float value : e) {
    if (std::isfinite(value)) largest = std::max(largest, std::fabs(double(value)));
  }
  for (size_t i = 0; i < e.size(); ++i) {
    if (std::isfinite(e[i]) && std::isfinite(a[i])) {
      worst = std::max(worst, std::fabs(double(a[i]) - double(e[i])) / largest);
    } else if (std::isnan(e[i]) ? !std::isnan(a[i]) : a[i] != e[i]) {
      return kInfinity;
    }
  }
  return worst;
}

}  // namespace shoal::convert
