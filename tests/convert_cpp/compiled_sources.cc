// SPDX-License-Identifier: Apache-2.0
#include "compiled_sources.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <regex>

#include "shoal/graph/source.h"

namespace shoal::convert::testing {
namespace {

void write_file(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary).write(text.data(), std::streamsize(text.size()));
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The parameters of predict() as its comment has them: name, type and elements.
struct DocumentedParameter {
  std::string name, type;
  size_t elements;
};

std::vector<DocumentedParameter> documented(const std::string& header, const std::string& section) {
  std::vector<DocumentedParameter> result;
  const size_t begin = header.find("/// " + section + ":\n");
  size_t end = header.find("\nbool ", begin);
  if (section == "Inputs") end = header.find("/// Outputs:", begin);
  const std::string text = header.substr(begin, end - begin);
  const std::regex line(R"(///   (\w+)  ([\w:]+)\[(\d+)\])");
  for (auto found = std::sregex_iterator(text.begin(), text.end(), line); found != std::sregex_iterator(); ++found) {
    result.push_back({(*found)[1], (*found)[2], size_t(std::stoul((*found)[3]))});
  }
  return result;
}

/// A function that reads the inputs of a subject, calls it and writes its outputs.
std::string driver_of(const Subject& subject) {
  std::string text = "static void run_" + subject.name + "() {\n", arguments;
  for (const auto& [section, prefix] : {std::pair("Inputs", "i_"), std::pair("Outputs", "o_")}) {
    for (const auto& parameter : documented(subject.source.header, section)) {
      const std::string name = prefix + parameter.name;
      text += "  static " + parameter.type + " " + name + "[" + std::to_string(parameter.elements) + "];\n";
      if (prefix[0] == 'i') text += "  take(" + name + ", sizeof(" + name + "));\n";
      arguments += (arguments.empty() ? "" : ", ") + name;
    }
  }
  text += "  const unsigned char ok = " + subject.name + "::predict(" + arguments + ");\n  give(&ok, 1);\n";
  for (const auto& parameter : documented(subject.source.header, "Outputs")) {
    text += "  give(o_" + parameter.name + ", sizeof(o_" + parameter.name + "));\n";
  }
  return text + "}\n";
}

std::string main_of(const std::vector<Subject>& subjects) {
  std::string text = "#include <cstdio>\n#include <cstdlib>\n";
  for (const Subject& subject : subjects) text += "#include \"" + subject.name + ".h\"\n";
  text += "static void take(void* to, size_t size) { if (std::fread(to, 1, size, stdin) != size) std::exit(3); }\n";
  text += "static void give(const void* from, size_t size) { std::fwrite(from, 1, size, stdout); }\n";
  for (const Subject& subject : subjects) text += driver_of(subject);
  text += "int main() {\n";
  for (const Subject& subject : subjects) text += "  run_" + subject.name + "();\n";
  return text + "}\n";
}

std::string bytes_of(const Tensor& tensor) { return {reinterpret_cast<const char*>(tensor.view().data), tensor.bytes()}; }

}  // namespace

TrainedModel model_of(const Graph& graph, const Feeds& feeds, const std::vector<Value>& outputs) {
  TrainedModel model;
  model.graph = &graph;
  for (size_t id = 0; id < graph.nodes().size(); ++id) {
    const Node& node = graph.nodes()[id];
    if (source_of(node.op) == Source::kInput)
      model.inputs.push_back({node.name, Value(&outputs[0].graph(), NodeId(id), 0)});
  }
  for (size_t i = 0; i < outputs.size(); ++i) model.outputs.push_back({"y" + std::to_string(i), outputs[i]});
  model.weights = [&feeds](const Variable& variable) {
    const TensorView view = feeds.at(variable.name).view();
    return std::span(view.data, view.bytes());
  };
  return model;
}

Result<Subject> subject_of(std::string name, const Graph& graph, const Feeds& feeds, const std::vector<Value>& outputs,
                           CppOptions options) {
  Subject subject;
  subject.name = name;
  options.name = options.name_space = name;
  SHOAL_TRY(subject.source, to_cpp(model_of(graph, feeds, outputs), options));
  for (const auto& parameter : documented(subject.source.header, "Inputs")) {
    subject.inputs.emplace_back(parameter.name, feeds.at(parameter.name));
  }
  for (const auto& parameter : documented(subject.source.header, "Outputs")) subject.output_types.push_back(parameter.type);
  const auto backend = backends::testing::backend_or_die("portable");
  SymbolSizes sizes(options.axes.begin(), options.axes.end());
  sizes["batch"] = 1;
  auto expected = backends::testing::run_once(*backend, graph, outputs, feeds, sizes);
  if (expected) subject.expected = std::move(expected).value();
  return subject;
}

bool has_program(const std::string& name) { return std::system(("command -v " + name + " >/dev/null").c_str()) == 0; }

bool has_fma() {
#if defined(__x86_64__)
  return __builtin_cpu_supports("fma") != 0;
#else
  return true;
#endif
}

Result<std::vector<Outcome>> run_compiled(const std::vector<Subject>& subjects, const Compiler& compiler,
                                          const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  std::string all, input;
  for (const Subject& subject : subjects) {
    write_file(folder / (subject.name + ".h"), subject.source.header);
    write_file(folder / (subject.name + ".cc"), subject.source.source);
    // Not by an include: clang says nothing of unused functions in what is included.
    all += "#line 1 \"" + subject.name + ".cc\"\n" + subject.source.source;
    for (const auto& [name, tensor] : subject.inputs) input += bytes_of(tensor);
  }
  write_file(folder / "all.cc", all);
  write_file(folder / "main.cc", main_of(subjects));
  write_file(folder / "input", input);
  const std::string compile =
      compiler.program + " -std=c++17 -Wall -Wextra -Werror " + compiler.flags + " all.cc main.cc -o program > errors 2>&1";
  const std::string in_folder = "cd '" + folder.string() + "' && ";
  if (std::system((in_folder + compile).c_str()) != 0) {
    return invalid_argument(compile + ":\n" + read_file(folder / "errors").substr(0, 4000));
  }
  if (std::system((in_folder + compiler.emulator + " ./program < input > output 2> errors").c_str()) != 0) {
    return invalid_argument("the program failed:\n" + read_file(folder / "errors").substr(0, 4000));
  }
  const std::string output = read_file(folder / "output");
  size_t at = 0;
  std::vector<Outcome> outcomes;
  for (const Subject& subject : subjects) {
    Outcome outcome;
    if (at >= output.size()) return invalid_argument("the program wrote too little");
    outcome.succeeded = output[at++] != 0;
    for (const auto& parameter : documented(subject.source.header, "Outputs")) {
      const std::map<std::string, size_t> sizes{{"float", 4}, {"std::int32_t", 4}, {"std::int64_t", 8}};
      const size_t size = parameter.elements * (sizes.contains(parameter.type) ? sizes.at(parameter.type) : 1);
      const auto* begin = reinterpret_cast<const std::byte*>(output.data() + at);
      outcome.outputs.emplace_back(begin, begin + size);
      at += size;
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

Result<std::string> run_with_main(const CppSource& source, const std::string& name, const std::string& main_text,
                                  const Compiler& compiler, const std::filesystem::path& folder) {
  std::filesystem::create_directories(folder);
  write_file(folder / (name + ".h"), source.header);
  write_file(folder / (name + ".cc"), source.source);
  write_file(folder / "weights", {reinterpret_cast<const char*>(source.weights.data()), source.weights.size()});
  write_file(folder / "main.cc", "#include \"" + name + ".h\"\n" + main_text);
  const std::string compile = compiler.program + " -std=c++17 -Wall -Wextra -Werror " + compiler.flags + " " + name +
                              ".cc main.cc -o program > errors 2>&1";
  const std::string in_folder = "cd '" + folder.string() + "' && ";
  if (std::system((in_folder + compile + " && ./program > output 2>> errors").c_str()) != 0) {
    return invalid_argument(compile + ":\n" + read_file(folder / "errors").substr(0, 4000));
  }
  return read_file(folder / "output");
}

double largest_difference(const Subject& subject, const Outcome& outcome) {
  double worst = 0;
  for (size_t i = 0; i < subject.expected.size(); ++i) {
    const Tensor& expected = subject.expected[i];
    if (std::memcmp(expected.view().data, outcome.outputs[i].data(), expected.bytes()) == 0) continue;
    if (expected.dtype() != DType::kFloat32) return std::numeric_limits<double>::infinity();
    std::vector<float> found(size_t(expected.elements()));
    std::memcpy(found.data(), outcome.outputs[i].data(), expected.bytes());
    double largest = 0, difference = 0;
    for (size_t j = 0; j < found.size(); ++j) {
      const float a = expected.as<float>()[j], b = found[j];
      if (std::isfinite(a)) largest = std::max(largest, double(std::fabs(a)));
      const bool same = std::memcmp(&a, &b, sizeof(a)) == 0 || (std::isnan(a) && std::isnan(b));
      if (same) continue;
      const double apart = std::fabs(double(a) - double(b));
      difference =
          std::max(difference, std::isfinite(apart) ? std::max(apart, 1e-300) : std::numeric_limits<double>::infinity());
    }
    if (difference > 0) worst = std::max(worst, largest > 0 ? difference / largest : difference);
  }
  return worst;
}

}  // namespace shoal::convert::testing
