// Writes the conformance cases, and what each backend makes of them, for compare_ops.py:
//   dump_op_cases <output folder>
//
// cases.json (tensors stand as {"dtype", "shape", "offset"}, a place in tensors.bin, row-major, in the machine's byte
// order):
//   {"catalogue": [op, ...], "trainer", "ordinal",
//    "cases": [{"name", "op", "graph": as Graph::to_json(), "feeds": {name: tensor}, "outputs": [[node, output], ...],
//               "weights": [tensor or null, ...], "wrt": [name, ...], "no_gradient": why there is none, if so,
//               "backends": {name: {"outputs": [tensor, ...], "gradients": [tensor or null, ...]}}}]}
// Weights are those of the loss, sum(weights * output) over the float outputs; null for the others. A gradient is null
// where the loss does not depend on that value.
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "op_cases.h"
#include "shoal/base/environment.h"
#include "shoal/graph/op.h"

namespace shoal::backends::testing {
namespace {

using nlohmann::ordered_json;

constexpr StepKey kKey{.trainer = 3, .ordinal = 41};

/// The file beside cases.json.
class Blob {
 public:
  explicit Blob(const std::string& path) : file_(path, std::ios::binary) {}

  ordered_json write(DType dtype, const Shape& shape, const void* data, size_t bytes) {
    file_.write(static_cast<const char*>(data), std::streamsize(bytes));
    ordered_json place{{"dtype", std::string(to_string(dtype))}, {"shape", shape.dims()}, {"offset", offset_}};
    offset_ += bytes;
    return place;
  }
  ordered_json write(const Tensor& tensor) {
    return write(tensor.dtype(), tensor.shape(), tensor.view().data, tensor.bytes());
  }
  bool close() {
    file_.close();
    return bool(file_);
  }

 private:
  std::ofstream file_;
  size_t offset_ = 0;
};

/// The case, differentiated for what it names; where it names nothing (too large for finite differences, say), for all its
/// float operands, if its ops allow that.
struct Differentiated {
  explicit Differentiated(const OpCase& op_case) : chosen(op_case) {
    if (chosen.differentiable.empty()) chosen.differentiable = float_operands(op_case);
    const auto whole = call_user("gradients", [&] { built.emplace(chosen); });
    if (whole) return;
    if (!op_case.differentiable.empty()) raise(whole.error());
    no_gradient = whole.error().message();
    chosen.differentiable.clear();
    built.emplace(chosen);
  }

  static std::vector<std::string> float_operands(const OpCase& op_case) {
    CaseBuilder builder(op_case.name());
    bool float_result = false;
    for (const Value& output : op_case.build(builder)) float_result |= output.dtype() == DType::kFloat32;
    std::vector<std::string> names;
    for (const auto& [name, tensor] : builder.feeds()) {
      if (float_result && tensor.dtype() == DType::kFloat32) names.push_back(name);
    }
    return names;
  }

  OpCase chosen;
  std::optional<BuiltCase> built;
  std::string no_gradient;
};

ordered_json results_of(Backend& backend, BuiltCase& built, Blob& blob) {
  std::vector<Value> fetches = built.outputs;
  for (const Value& gradient : built.gradients) {
    if (gradient.valid()) fetches.push_back(gradient);
  }
  const auto tensors = value_or_raise(run_once(backend, built.builder.graph(), fetches, built.builder.feeds(), {}, kKey));
  ordered_json outputs = ordered_json::array(), gradients = ordered_json::array();
  auto next = tensors.begin();
  for (size_t i = 0; i < built.outputs.size(); ++i) outputs.push_back(blob.write(*next++));
  for (const Value& gradient : built.gradients) {
    gradients.push_back(gradient.valid() ? blob.write(*next++) : ordered_json());
  }
  return {{"outputs", std::move(outputs)}, {"gradients", std::move(gradients)}};
}

ordered_json weights_of(const BuiltCase& built, Blob& blob) {
  ordered_json list = ordered_json::array();
  size_t weighed = 0;
  for (const Value& output : built.outputs) {
    if (weighed == built.weighed.size() || !(built.weighed[weighed] == output)) {
      list.push_back(nullptr);
      continue;
    }
    const std::vector<double>& weights = built.weights[weighed++];
    Tensor tensor(DType::kFloat32, value_or_raise(output.shape().resolve({})));
    std::copy(weights.begin(), weights.end(), tensor.mutable_as<float>().begin());  // they were floats
    list.push_back(blob.write(tensor));
  }
  return list;
}

ordered_json dump_case(const OpCase& op_case, Blob& blob) {
  Differentiated differentiated(op_case);
  BuiltCase& built = *differentiated.built;
  ordered_json feeds = ordered_json::object(), outputs = ordered_json::array(), backends = ordered_json::object();
  for (const auto& [name, tensor] : built.builder.feeds()) feeds[name] = blob.write(tensor);
  for (const Value& output : built.outputs) outputs.push_back({output.node(), output.output()});
  for (const BackendEntry& entry : built_in_backends()) {
    backends[entry.name] = results_of(*backend_or_die(entry.name), built, blob);
  }
  return {{"name", op_case.name()},
          {"op", op_case.op},
          {"graph", ordered_json::parse(built.builder.graph().to_json())},
          {"feeds", std::move(feeds)},
          {"outputs", std::move(outputs)},
          {"weights", weights_of(built, blob)},
          {"wrt", differentiated.chosen.differentiable},
          {"no_gradient", differentiated.no_gradient},
          {"backends", std::move(backends)}};
}

void dump(const std::string& folder) {
  Blob blob(folder + "/tensors.bin");
  ordered_json cases = ordered_json::array();
  for (const OpCase& op_case : op_cases()) cases.push_back(dump_case(op_case, blob));
  const ordered_json all{{"catalogue", OpCatalogue::built_in().names()},
                         {"trainer", kKey.trainer},
                         {"ordinal", kKey.ordinal},
                         {"cases", std::move(cases)}};
  std::ofstream file(folder + "/cases.json");
  file << all.dump();
  file.close();
  if (!file || !blob.close()) raise(data_loss(folder + ": the cases could not be written"));
}

}  // namespace
}  // namespace shoal::backends::testing

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: dump_op_cases <output folder>\n");
    return 2;
  }
  const auto done = shoal::call_user("dump_op_cases", [&] { shoal::backends::testing::dump(argv[1]); });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return shoal::exit_status(done.error().kind());
}
