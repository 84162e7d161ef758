// SPDX-License-Identifier: Apache-2.0
// A program of another project: squares three numbers with the plug-ins that Shoal's table holds.
#include <cstdio>

#include "shoal/backends/backend.h"
#include "shoal/graph/ops.h"

int main() {
  shoal::Graph graph(shoal::RandomKey{1});
  const shoal::Value x = graph.input("x", shoal::DType::kFloat32, {3});
  const shoal::Value y = shoal::ops::square(x);
  const auto backend = shoal::value_or_raise(shoal::backends::make_backend(shoal::backends::default_backend()));
  shoal::backends::CompileOptions options;
  options.fetches = {y};
  const auto program = shoal::value_or_raise(backend->compile(graph, options));
  const shoal::Tensor numbers = shoal::Tensor::of<float>({3}, {1, 2, 3});
  const shoal::TensorView inputs[] = {numbers.view()};
  shoal::backends::StepBinding binding;
  binding.inputs = inputs;
  shoal::value_or_raise(program->run(binding));
  const auto squares = program->fetched()[0].as<float>();
  std::printf("%s: %g %g %g\n", backend->name().data(), double(squares[0]), double(squares[1]), double(squares[2]));
}
