// SPDX-License-Identifier: Apache-2.0
// Writes the conformance cases, and what each backend makes of them, for compare_ops.py:
//   dump_op_cases [--compute-dtype float32|bfloat16] <output folder>
//
// Backends that do not compute in bfloat16 on this machine are left out then, with a word.
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
  Differentiated(const OpCase& op_case, float factor) : chosen(op_case) {
    if (chosen.differentiable.empty()) chosen.differentiable = float_operands(op_case);
    const auto whole = call_user("gradients", [&] { built.emplace(chosen, factor); });
    if (whole) return;
    if (!op_case.differentiable.empty()) raise(whole.error());
    no_gradient = whole.error().message();
    chosen.differentiable.clear();
    built.emplace(chosen, factor);
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

ordered_json results_of(Backend& backend, BuiltCase& built, DType compute_dtype, Blob& blob) {
  std::vector<Value> fetches = built.outputs;
  for (const Value& gradient : built.gradients) {
    if (gradient.valid()) fetches.push_back(gradient);
  }
  Runner runner =
      value_or_raise(Runner::make(backend, built.builder.graph(), {.fetches = fetches, .compute_dtype = compute_dtype}));
  value_or_raise(runner.run(built.builder.feeds(), kKey));
  ordered_json outputs = ordered_json::array(), gradients = ordered_json::array();
  size_t next = 0;
  for (size_t i = 0; i < built.outputs.size(); ++i) outputs.push_back(blob.write(runner.fetched(next++)));
  for (const Value& gradient : built.gradients) {
    gradients.push_back(gradient.valid() ? blob.write(runner.fetched(next++)) : ordered_json());
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
    // The weights were floats, so nothing is lost.
    std::copy(weights.begin(), weights.end(), tensor.mutable_as<float>().begin());
    list.push_back(blob.write(tensor));
  }
  return list;
}

ordered_json dump_case(const OpCase& op_case, const std::vector<std::string>& names, DType compute_dtype, Blob& blob) {
  const bool rounded = compute_dtype == DType::kBFloat16;
  Differentiated differentiated(op_case, rounded ? CaseBuilder::kAllBits : CaseBuilder::kFewBits);
  BuiltCase& built = *differentiated.built;
  ordered_json feeds = ordered_json::object(), outputs = ordered_json::array(), backends = ordered_json::object();
  for (const auto& [name, tensor] : built.builder.feeds()) feeds[name] = blob.write(tensor);
  for (const Value& output : built.outputs) outputs.push_back({output.node(), output.output()});
  for (const std::string& name : names) backends[name] = results_of(*backend_or_die(name), built, compute_dtype, blob);
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

std::vector<std::string> backends_for(DType compute_dtype) {
  std::vector<std::string> names;
  for (const BackendEntry& entry : built_in_backends()) {
    const auto taken = entry.make()->check_compute_dtype(compute_dtype);
    if (taken) {
      names.push_back(entry.name);
    } else {
      std::printf("left out: %s\n", taken.error().message().c_str());
    }
  }
  std::fflush(stdout);
  return names;
}

void dump(const std::string& folder, DType compute_dtype) {
  const std::vector<std::string> names = backends_for(compute_dtype);
  Blob blob(folder + "/tensors.bin");
  ordered_json cases = ordered_json::array();
  for (const OpCase& op_case : op_cases()) cases.push_back(dump_case(op_case, names, compute_dtype, blob));
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
  const bool flagged = argc == 4 && std::string(argv[1]) == "--compute-dtype";
  const auto compute_dtype = shoal::dtype_from_string(flagged ? argv[2] : "float32");
  if ((argc != 2 && !flagged) || !compute_dtype) {
    std::fprintf(stderr, "usage: dump_op_cases [--compute-dtype float32|bfloat16] <output folder>\n");
    return 2;
  }
  const auto done =
      shoal::call_user("dump_op_cases", [&] { shoal::backends::testing::dump(argv[argc - 1], *compute_dtype); });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return shoal::exit_status(done.error().kind());
}
