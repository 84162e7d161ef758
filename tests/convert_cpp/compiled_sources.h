// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Generated sources, compiled and run as their users would: many of them in one program, since compilers take their time.
#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "../backends/run_graph.h"
#include "shoal/convert/cpp.h"

namespace shoal::convert::testing {

using backends::testing::Feeds;

/// A graph with data for its inputs and variables, and the values that are compared.
struct Subject {
  std::string name;
  std::vector<std::pair<std::string, Tensor>> inputs;  ///< In the order of the function's parameters.
  std::vector<Tensor> expected;                        ///< Empty if a call has to refuse its input.
  CppSource source;                                    ///< Its namespace is `name`.
  std::vector<std::string> output_types;
};

/// The model of a graph whose inputs and variables `feeds` has. Both outlive it.
TrainedModel model_of(const Graph& graph, const Feeds& feeds, const std::vector<Value>& outputs);

/// Its source, and what the backend `portable` gives. An error if the model cannot be written.
Result<Subject> subject_of(std::string name, const Graph& graph, const Feeds& feeds, const std::vector<Value>& outputs,
                           CppOptions options = {});

struct Compiler {
  std::string program = "g++";
  std::string flags = "-O2";
  std::string emulator = {};  ///< What runs its programs.
};
/// Whether a program is there.
bool has_program(const std::string& name);
/// Whether this processor, and g++ for it, have fused multiply-adds.
bool has_fma();

/// Results of one subject: whether the call succeeded, and the bytes of its outputs.
struct Outcome {
  bool succeeded = false;
  std::vector<std::vector<std::byte>> outputs;
};
/// Compiles all subjects to one program in `folder`, with -Wall -Wextra -Werror, and runs it. The errors of the compiler are in the
/// error.
Result<std::vector<Outcome>> run_compiled(const std::vector<Subject>& subjects, const Compiler& compiler,
                                          const std::filesystem::path& folder);

/// Compiles one source with a main program of the test's, and gives what it prints. The working folder is `folder`.
Result<std::string> run_with_main(const CppSource& source, const std::string& name, const std::string& main_text,
                                  const Compiler& compiler, const std::filesystem::path& folder);

/// The largest difference of an output from what is expected, as a share of the largest magnitude; 0 for equal bits, infinity for
/// integers that differ. NaN equals NaN.
double largest_difference(const Subject& subject, const Outcome& outcome);

}  // namespace shoal::convert::testing
