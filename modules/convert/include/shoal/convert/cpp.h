// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Writes a trained model as plain C++17: a header and a source that compute its predictions, for programs and boards
/// with nothing but a C library. The results have the bits of the backend `portable` for one example (docs/arithmetic.md)
/// if the processor fuses products and sums: arm64, riscv64, x86-64 with -mfma. See docs/how-to/plain-cpp.md.
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "shoal/base/result.h"
#include "shoal/base/tensor.h"
#include "shoal/convert/trained_model.h"

namespace shoal::convert {

/// Examples from which the ranges of activations are taken, for a model in int8.
struct Calibration {
  /// A map for each example, from the name of each input of the graph to its tensor, whose first size is 1. A text
  /// input is given as ids, under the name of its encoded input.
  std::vector<std::map<std::string, Tensor>> examples;
};

struct CppOptions {
  std::string name = "model";        ///< An identifier. The files are "<name>.h" and a source that includes it.
  std::string name_space = "model";  ///< The namespace of the functions: identifiers with "::" between them.
  /// The sizes of axes that vary, by name ("time": 40). The batch is one example, and needs no entry.
  std::map<std::string, int64_t> axes = {};
  /// True: weights are not in the source but in CppSource::weights, a file that the program loads and passes to the source.
  bool weights_apart = false;
  /// If set, dense layers, convolutions, pools and relus compute in eight bits (docs/how-to/plain-cpp.md), others in float.
  std::optional<Calibration> int8 = {};
};

/// The range of a value over the examples of a calibration, 0 included.
struct Int8Range {
  std::string name;  ///< The name of the node that computes the value.
  float low = 0, high = 0;
};

/// A pointer that a generated function takes: an input or an output.
struct CppPort {
  std::string title;  ///< The name of the feature, or of the signature's output.
  DType dtype = DType::kFloat32;
  int64_t elements = 0;
  std::string node;                  ///< The node of the model's graph that computes this value.
  int output = 0;                    ///< The index of the output of `node` that holds this value.
  std::vector<std::string> names{};  ///< For an output of ids: the names that the ids stand for, if the model knows them.
};

/// The function `bool name(const T* input, ..., T* output, ...)`, one for each signature.
struct CppFunction {
  std::string name;
  std::string signature;
  std::vector<CppPort> inputs, outputs;
};

/// The text of a generated source, and the memory that its program takes.
struct CppSource {
  std::string header;
  std::string source;
  std::vector<std::byte> weights;  ///< The contents of the file of weights; empty if the source contains the weights.
  size_t weight_bytes = 0;         ///< Bytes of read-only memory (flash) that weights take. Code comes in addition.
  size_t memory_bytes = 0;         ///< Bytes of writable static memory: all values between ops.
  size_t stack_bytes = 0;  ///< The most stack, in bytes, that a call takes when compiled with optimisation, rounded up.
  std::vector<CppFunction> functions;  ///< All functions, the one of the default signature first.
  std::vector<Int8Range> int8_ranges;  ///< With CppOptions::int8: the range of each value kept in eight bits.
};

/// Writes the model. InvalidArgument for names that are no identifiers, and for the first of cpp_obstacles(), if any.
Result<CppSource> to_cpp(const TrainedModel& model, const CppOptions& options);

/// Returns all reasons why this model cannot be written as C++. Each sentence names a node and its op, or an axis that
/// needs a size. The function does not read weights, so it may be called before the model is trained.
std::vector<std::string> cpp_obstacles(const TrainedModel& model, const CppOptions& options = {});

}  // namespace shoal::convert
