// SPDX-License-Identifier: Apache-2.0
#include "cpp/program_text.h"

#include <algorithm>
#include <numeric>
#include <set>

#include "cpp/function_writer.h"
#include "cpp/parts.h"
#include "cpp/text.h"
#include "cpp/weight_arrays.h"
#include "shoal/base/format.h"
#include "shoal/graph/op.h"
#include "shoal/graph/source.h"

namespace shoal::convert::cpp {
namespace {

/// The most stack that a call takes. Arrays on the stack have at most 256 bytes; measured frames of predict() and its
/// callees are together below a kilobyte (g++ 12, x86-64 and arm64, -O0 to -O3).
constexpr size_t kStackBytes = 2048;

std::string elements_text(const Parameter& parameter, const SymbolSizes& sizes) {
  return std::to_string(parameter.value.shape().resolve(sizes).value().elements());
}

/// Returns "const float* pixels, float* logits".
std::string parameters_text(const SignatureFunction& function, bool by_number) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < function.inputs.size(); ++i) {
    const Parameter& input = function.inputs[i];
    texts.push_back("const " + std::string(type_text(input.value.dtype())) + "* " +
                    (by_number ? "in" + std::to_string(i) : input.name));
  }
  for (size_t i = 0; i < function.outputs.size(); ++i) {
    const Parameter& output = function.outputs[i];
    texts.push_back(std::string(type_text(output.value.dtype())) + "* " +
                    (by_number ? "out" + std::to_string(i) : output.name));
  }
  return joined(texts);
}

std::string table_declaration(const std::string& name, size_t count) {
  return "const char* const " + name + "[" + std::to_string(count) + "]";
}

std::string table_definition(const std::string& name, const std::vector<std::string>& names) {
  std::string text =
      "extern " + table_declaration(name, names.size()) + ";\n" + table_declaration(name, names.size()) + " = {";
  for (const std::string& entry : names) text += (&entry == &names.front() ? "\n    " : ",\n    ") + string_text(entry);
  return text + "};\n\n";
}

/// Returns the arrays of names, such as names of classes, that the generated code has for one function.
std::vector<NameTable> tables_of(const SignatureFunction& function) {
  std::vector<NameTable> tables;
  for (const Parameter& output : function.outputs) {
    if (!output.names.empty()) tables.push_back({function.name + "_" + output.name + "_names", output.names});
  }
  for (const NameTable& table : function.tables) {
    if (!table.names.empty()) tables.push_back({function.name + "_" + table.name, table.names});
  }
  return tables;
}

/// Describes how an encoding makes ids of text. The result ends a sentence in a comment of the generated code.
std::string encoding_text(const TextEncoding& encoding) {
  const std::string hash = "hash64 modulo " + std::to_string(encoding.buckets);
  if (!encoding.vocabulary) return encoding.buckets == 0 ? "the hash hash64 as a signed number" : hash;
  std::string text = "the place in a vocabulary of " + std::to_string(encoding.vocabulary->size()) + " texts";
  if (encoding.buckets > 0) return text + ", for others that number plus " + hash;
  return text +
         (encoding.refuse_unknown ? ", others are refused" : ", " + std::to_string(encoding.unknown_id) + " for others");
}

/// "; the empty text gives -1; \"none\" gives -1": the texts that stand for a missing value.
std::string missing_text(const TextEncoding& encoding) {
  std::string text;
  for (const std::string& missing : encoding.missing) {
    text += missing.empty() ? "; the empty text" : "; \"" + comment_text(missing) + "\"";
    text += " gives " + std::to_string(encoding.missing_id);
  }
  return text;
}

class ProgramText {
 public:
  ProgramText(const TrainedModel& model, const CppOptions& options, const std::vector<SignatureFunction>& functions)
      : model_(model), options_(options), functions_(functions), sizes_(sizes_of(model, options.axes)), weights_(model) {
    for (const SignatureFunction& function : functions) {
      for (const Parameter& input : function.inputs) {
        if (input.encoding) id_functions_.emplace(input.value.node(), id_names_.take(input.name + "_id", "id"));
      }
    }
  }

  Result<CppSource> write() {
    for (const SignatureFunction& function : functions_) SHOAL_TRY_VOID(write_function(function));
    CppSource result;
    result.weight_bytes = weights_.bytes();
    result.memory_bytes = memory_bytes_;
    result.stack_bytes = kStackBytes;
    result.int8_ranges = ranges_;
    if (options_.weights_apart) {
      result.weights = weights_.file();
      write_loading(result.weights);
    }
    result.header = header(result);
    result.source = source();
    return result;
  }

 private:
  Result<void> write_function(const SignatureFunction& function) {
    std::vector<Value> inputs, outputs;
    for (const Parameter& input : function.inputs) inputs.push_back(input.value);
    for (const Parameter& output : function.outputs) outputs.push_back(output.value);
    std::optional<Int8Writing> int8;
    if (options_.int8) {
      int8.emplace(Int8Writing{Int8Plan(*model_.graph, outputs), {}});
      SHOAL_TRY(const auto ranges, ranges_of(model_, int8->plan.ranged(), sizes_, *options_.int8));
      for (size_t i = 0; i < ranges.size(); ++i) {
        int8->scales[place_of(int8->plan.ranged()[i])] = scale_of(ranges[i]);
        const bool told =
            std::any_of(ranges_.begin(), ranges_.end(), [&](const Int8Range& r) { return r.name == ranges[i].name; });
        if (!told) ranges_.push_back(ranges[i]);
      }
    }
    FunctionWriter writer(*model_.graph, sizes_, inputs, outputs, weights_, parts_, int8 ? &*int8 : nullptr);
    SHOAL_TRY_VOID(writer.write());
    memory_bytes_ = std::max(memory_bytes_, writer.memory_bytes());
    for (const NameTable& table : tables_of(function)) public_ += table_definition(table.name, table.names);
    for (const Parameter* const input : encoded_first_in(function)) write_encoding(id_function(*input), *input->encoding);
    std::string names;
    const auto add_names = [&](const std::vector<Parameter>& parameters, const std::string& prefix) {
      for (size_t i = 0; i < parameters.size(); ++i) {
        names += "  // " + prefix + std::to_string(i) + ": " +
                 comment_text(parameters[i].title.empty() ? parameters[i].name : parameters[i].title) + "\n";
      }
    };
    add_names(function.inputs, "in");
    add_names(function.outputs, "out");
    public_ += "bool " + function.name + "(" + parameters_text(function, true) + ") {\n" + names +
               writer.body(options_.weights_apart) + "  return true;\n}\n\n";
    return {};
  }

  std::string id_function(const Parameter& input) const { return id_functions_.at(input.value.node()); }
  /// The text inputs of `function` that no earlier function in functions_ has.
  std::vector<const Parameter*> encoded_first_in(const SignatureFunction& function) const {
    std::set<NodeId> before;
    for (const SignatureFunction& other : functions_) {
      if (&other == &function) break;
      for (const Parameter& input : other.inputs) before.insert(input.value.node());
    }
    std::vector<const Parameter*> result;
    for (const Parameter& input : function.inputs) {
      if (input.encoding && !before.contains(input.value.node())) result.push_back(&input);
    }
    return result;
  }

  /// Writes a function that turns a text into an id.
  void write_encoding(const std::string& name, const TextEncoding& encoding) {
    std::string body;
    for (const std::string& missing : encoding.missing) {
      body += "  if (size == " + std::to_string(missing.size()) +
              (missing.empty() ? "" : " && std::memcmp(text, " + string_text(missing) + ", size) == 0") + ") return " +
              std::to_string(encoding.missing_id) + ";\n";
    }
    if (encoding.vocabulary) {
      parts_.insert("find_text");
      const std::vector<std::string>& names = encoding.vocabulary->names();
      std::vector<int32_t> ids(names.size());
      std::iota(ids.begin(), ids.end(), 0);
      std::sort(ids.begin(), ids.end(), [&](int32_t a, int32_t b) { return names[size_t(a)] < names[size_t(b)]; });
      std::string texts;
      for (const int32_t id : ids) texts += (texts.empty() ? "\n    " : ",\n    ") + string_text(names[size_t(id)]);
      const std::string count = std::to_string(names.size());
      internal_ += "const char* const " + name + "_texts[" + count + "] = {" + texts + "};\n";
      internal_ += "const std::int32_t " + name + "_ids[" + count +
                   "] = " + array_text("std::int32_t", std::as_bytes(std::span(ids))) + ";\n\n";
      body += "  const std::int64_t known = find_text(" + name + "_texts, " + name + "_ids, " + count + ", text, size);\n";
      body += "  if (known >= 0) return known;\n";
    }
    body += "  return " + unknown_text(encoding) + ";\n";
    const bool reads = body.find("text,") != std::string::npos || body.find("(text)") != std::string::npos;
    public_ +=
        "std::int64_t " + name + "(const char* " + (reads ? "text" : "") + ", std::size_t size) {\n" + body + "}\n\n";
  }

  /// The expression for the id of a text that the vocabulary lacks, or of any text if there is no vocabulary.
  std::string unknown_text(const TextEncoding& encoding) {
    if (encoding.vocabulary && encoding.buckets == 0) {
      return encoding.refuse_unknown ? "INT64_MIN" : int_text(encoding.unknown_id);
    }
    parts_.insert("hash64");
    const std::string hash = "hash64(reinterpret_cast<const unsigned char*>(text), size)";
    if (encoding.buckets == 0) return "std::int64_t(" + hash + ")";
    const std::string bucket = "std::int64_t(" + hash + " % " + std::to_string(encoding.buckets) + "u)";
    return encoding.vocabulary ? std::to_string(encoding.vocabulary->size()) + " + " + bucket : bucket;
  }

  void write_loading(std::span<const std::byte> file) {
    parts_.insert("checksum");
    uint64_t sum = 0xcbf29ce484222325u;  // FNV-1a, as the generated function checksum() computes it.
    for (const std::byte byte : file) sum = (sum ^ uint64_t(byte)) * 0x100000001b3u;
    internal_ += "const unsigned char* weights = nullptr;\n\n";
    public_ += formatted(R"(bool load_weights(const void* bytes, std::size_t size) {
  const unsigned char* const from = static_cast<const unsigned char*>(bytes);
  if (size != %zuu || reinterpret_cast<std::uintptr_t>(bytes) %% 8 != 0) return false;
  std::uint64_t mark;
  std::memcpy(&mark, bytes, sizeof(mark));
  if (mark != 0x%llxu || checksum(from, size) != 0x%llxu) return false;
  weights = from;
  return true;
}

)",
                         file.size(), static_cast<unsigned long long>(WeightArrays::kFileMark),
                         static_cast<unsigned long long>(sum));
  }

  std::string introduction(const CppSource& sizes) const {
    std::string text = "// " + options_.name + ": made by Shoal of a trained model, of its step " +
                       std::to_string(model_.global_step) + ".\n//\n";
    text += "// It is plain C++17 and needs libc and libm alone. It takes\n";
    text += "//   " + std::to_string(sizes.weight_bytes) + " bytes of weights" +
            (options_.weights_apart ? " in a file of " + std::to_string(sizes.weights.size()) + " bytes"
                                    : ", which are constants") +
            ", and the code, which depends on the compiler;\n";
    text += "//   " + std::to_string(sizes.memory_bytes) + " bytes of static memory, and less than " +
            std::to_string(sizes.stack_bytes) + " bytes of stack in a call. It allocates nothing.\n";
    text += "// A call computes one example. All functions use the same memory, so only one may run at a time.\n";
    if (options_.int8) {
      text +=
          "// Dense layers, convolutions, pools and relus compute in eight bits, with the ranges that some examples have "
          "had; the\n";
      text += "// rest computes in float, so these lines are true of it alone:\n";
    }
    text +=
        "// Bits are those of Shoal's backend portable on arm64, riscv64, and x86-64 compiled with -mfma; elsewhere "
        "products and\n";
    text += "// sums are rounded apart, which differs by about a millionth. Do not compile it with -ffast-math.\n";
    return text;
  }

  /// True if an output depends on the contents of an input, and not only on its sizes.
  bool depends_on_inputs(Value output) const {
    std::vector<Value> left{output};
    std::set<NodeId> seen;
    while (!left.empty()) {
      const NodeId id = left.back().node();
      left.pop_back();
      if (!seen.insert(id).second) continue;
      const Node& node = model_.graph->node(id);
      if (source_of(node.op) == Source::kInput) return true;
      // A product with 0 does not depend on its operand. Models use such a product to make the list of all classes.
      if (node.op == "scale" && node.attributes.get_real("factor") == 0) continue;
      const OpDef* const op = model_.graph->catalogue().find(node.op);
      for (size_t i = 0; i < node.inputs.size(); ++i) {
        if (!op || !op->is_shape_only(int(i))) left.push_back(node.inputs[i]);
      }
    }
    return false;
  }

  std::string parameter_doc(const Parameter& parameter, const SignatureFunction& function, bool is_input) const {
    const std::string shape = to_string(parameter.value.shape().resolve(sizes_).value());
    std::string text = "///   " + parameter.name + "  " + std::string(type_text(parameter.value.dtype())) + "[" +
                       elements_text(parameter, sizes_) + "], shape " + shape;
    if (!parameter.title.empty() && parameter.title != parameter.name)
      text += ", \"" + comment_text(parameter.title) + "\"";
    if (is_input && parameter.encoding) {
      text += "; ids of text, which " + id_function(parameter) + "() makes";
    }
    if (!parameter.names.empty()) text += "; ids, whose names are in " + function.name + "_" + parameter.name + "_names";
    if (!is_input && !depends_on_inputs(parameter.value)) text += "; the same in every call";
    return text + "\n";
  }

  std::string declaration(const SignatureFunction& function) const {
    std::string text;
    for (const NameTable& table : tables_of(function))
      text += "extern " + table_declaration(table.name, table.names.size()) + ";\n";
    for (const Parameter* const input : encoded_first_in(function)) {
      text += "/// The id of a text of `size` bytes for \"" + comment_text(input->title) +
              "\": " + encoding_text(*input->encoding);
      text += (input->encoding->refuse_unknown ? " (INT64_MIN)" : "") + missing_text(*input->encoding) + ".\n";
      text += "std::int64_t " + id_function(*input) + "(const char* text, std::size_t size);\n";
    }
    text += "/// Signature " + comment_text(function.signature);
    for (const std::string& other : function.equals) text += ", and " + comment_text(other);
    text += ". False if an input is out of range, and then the outputs are undefined.\n";
    text += "/// Outputs do not overlap with inputs, nor with each other.\n/// Inputs:\n";
    for (const Parameter& input : function.inputs) text += parameter_doc(input, function, true);
    text += "/// Outputs:\n";
    for (const Parameter& output : function.outputs) text += parameter_doc(output, function, false);
    return text + "bool " + function.name + "(" + parameters_text(function, false) + ");\n\n";
  }

  std::string header(const CppSource& sizes) const {
    std::string text = introduction(sizes) + "#pragma once\n#include <cstddef>\n#include <cstdint>\n\nnamespace " +
                       options_.name_space + " {\n\n";
    if (options_.weights_apart) {
      text +=
          "/// Takes the contents of the file of weights, which stay where they are, at an address that is a multiple of "
          "8, for as\n"
          "/// long as functions are called. False if this is another file, or a damaged one. Until then the functions "
          "return false.\n"
          "bool load_weights(const void* bytes, std::size_t size);\n\n";
    }
    for (const SignatureFunction& function : functions_) text += declaration(function);
    return text + "}  // namespace " + options_.name_space + "\n";
  }

  std::string source() const {
    std::string text = "// Made by Shoal; see " + options_.name +
                       R"(.h. The functions before the weights are Shoal's own (Apache License 2.0).
#if defined(__FAST_MATH__)
#error "compile this without -ffast-math: its sums have a fixed order, and it knows infinities and NaN"
#endif
// A product and a sum are rounded apart, except where fused() says otherwise. (g++ heeds no standard pragma for that.)
#if defined(__clang__)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC optimize("fp-contract=off")
#elif defined(_MSC_VER)
#pragma fp_contract(off)
#endif
)";
    text += "#include \"" + options_.name + ".h\"\n\n#include <cmath>\n#include <cstring>\n\nnamespace " +
            options_.name_space + " {\nnamespace {\n\nusing Size = std::ptrdiff_t;\n\n";
    text += parts_text(parts_) + "\n";
    if (memory_bytes_ > 0) text += "alignas(16) unsigned char memory[" + std::to_string(memory_bytes_) + "];\n\n";
    for (const WeightArrays::Array& array : weights_.all()) {
      if (options_.weights_apart) break;
      text += "// " + comment_text(array.origin) + " " + to_string(array.shape) + "\n";
      text += "alignas(16) const " + array.type + " " + array.name + "[" + std::to_string(array.shape.elements()) +
              "] = " + array_text(array.type, array.bytes) + ";\n\n";
    }
    return text + internal_ + "}  // namespace\n\n" + public_ + "}  // namespace " + options_.name_space + "\n";
  }

  const TrainedModel& model_;
  const CppOptions& options_;
  const std::vector<SignatureFunction>& functions_;
  const SymbolSizes sizes_;
  WeightArrays weights_;
  Names id_names_;
  std::map<NodeId, std::string> id_functions_;  // By input node: the function that turns its texts into ids.
  std::set<std::string> parts_;
  // internal_: the code in the unnamed namespace, behind the shared functions of parts.h. public_: the code behind that
  // namespace.
  std::string internal_, public_;
  std::vector<Int8Range> ranges_;
  size_t memory_bytes_ = 0;
};

}  // namespace

Result<CppSource> write_program(const TrainedModel& model, const CppOptions& options,
                                const std::vector<SignatureFunction>& functions) {
  return ProgramText(model, options, functions).write();
}

}  // namespace shoal::convert::cpp
