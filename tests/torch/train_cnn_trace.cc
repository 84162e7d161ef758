// SPDX-License-Identifier: Apache-2.0
// Trains the MNIST CNN with plain SGD on batches from a file and writes what another implementation needs to do the same:
//   train_cnn_trace <batches> <output folder> <backend> <batch> <steps> <learning rate>
// <batches>: for each step, batch * 784 float32 pixels, then batch int64 labels, in the machine's byte order.
// Output: variables.txt ("name dim dim ..." per line), <number>.bin (float32 starting values of the variable on that line,
// from 0), losses.txt (one loss per line).
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>

#include "shoal/backends/backend.h"
#include "shoal/base/environment.h"
#include "shoal/nn/apply_update.h"
#include "shoal/nn/conv2d.h"
#include "shoal/nn/dense.h"
#include "shoal/nn/flatten.h"
#include "shoal/nn/initializers.h"
#include "shoal/nn/losses.h"
#include "shoal/nn/optimizers.h"
#include "shoal/nn/pooling.h"

namespace shoal {
namespace {

struct Options {
  std::string batches, folder, backend;
  int64_t batch, steps;
  double learning_rate;
};

Value cnn_logits(Value x) {
  using nn::Activation;
  for (int64_t filters : {32, 64}) {
    x = nn::conv2d(x, {.filters = filters, .kernel = 5, .padding = Padding::same(), .activation = Activation::kRelu});
    x = nn::max_pool(x);
  }
  x = nn::dense(nn::flatten(x), {.units = 1024, .activation = Activation::kRelu});
  return nn::dense(x, {.units = 10});
}

/// The variables with their gradients, in the order of the train op, and how a program sees them.
struct Parameters {
  std::vector<Tensor> values, gradients;
  std::vector<backends::Piece> pieces;
  std::vector<backends::MutablePiece> update_pieces;
  std::vector<backends::Pieces> variables;
  std::vector<backends::MutablePieces> updates;

  Parameters(const Graph& graph, const nn::TrainOp& op) {
    for (const auto& update : op.updates) {
      const Variable& variable = *graph.find_variable(update.variable);
      values.emplace_back(variable.dtype, variable.shape);
      gradients.emplace_back(variable.dtype, variable.shape);
      value_or_raise(nn::initialize(variable.initializer, nn::variable_key(graph.seed(), variable.name), 0,
                                    values.back().mutable_view()));
    }
  }

  void write(const nn::TrainOp& op, const std::string& folder) const {
    std::ofstream list(folder + "/variables.txt");
    for (size_t i = 0; i < values.size(); ++i) {
      list << op.updates[i].variable;
      for (int64_t dim : values[i].shape().dims()) list << " " << dim;
      list << "\n";
      std::ofstream file(folder + "/" + std::to_string(i) + ".bin", std::ios::binary);
      file.write(reinterpret_cast<const char*>(values[i].view().data), std::streamsize(values[i].bytes()));
    }
  }

  void bind(const nn::TrainOp& op, const backends::CompiledProgramInfo& info) {
    for (const auto& variable : info.variables) {
      for (size_t i = 0; i < op.updates.size(); ++i) {
        if (op.updates[i].variable == variable.name) pieces.push_back({values[i].view().data, 0, variable.shape[0]});
      }
    }
    for (Tensor& gradient : gradients) update_pieces.push_back({gradient.mutable_view().data, 0, gradient.shape()[0]});
    for (const auto& piece : pieces) variables.emplace_back(&piece, 1);
    for (const auto& piece : update_pieces) updates.emplace_back(&piece, 1);
  }

  void apply(const nn::TrainOp& op, uint64_t step) {
    for (size_t i = 0; i < op.updates.size(); ++i) {
      const float scale = 1;
      const float* gradient = gradients[i].as<float>().data();
      float* value = values[i].mutable_as<float>().data();
      nn::apply_update(op.updates[i].rule, op.scalars[0].at(step), step + 1, values[i].elements(), value, value, {},
                       {{&gradient, 1}, {&scale, 1}});
    }
  }
};

void read(std::ifstream& file, Tensor& batch) {
  file.read(reinterpret_cast<char*>(batch.mutable_view().data), std::streamsize(batch.bytes()));
  if (!file) raise(data_loss("the file of batches ends early"));
}

void train(const Options& options) {
  Graph graph(42);
  const Value images = graph.input("images", DType::kFloat32, {options.batch, 28, 28, 1});
  const Value labels = graph.input("labels", DType::kInt64, {options.batch});
  const Value loss = nn::reduce_loss(nn::softmax_cross_entropy({.labels = labels, .logits = cnn_logits(images)}));
  const nn::TrainOp op = nn::sgd({.learning_rate = options.learning_rate}).minimize(loss);
  backends::CompileOptions compile{.fetches = {loss}};
  for (const auto& update : op.updates) compile.updates.push_back(update.update);
  const auto backend = value_or_raise(backends::make_backend(options.backend));
  const auto program = value_or_raise(backend->compile(graph, compile));

  Parameters parameters(graph, op);
  parameters.write(op, options.folder);
  parameters.bind(op, program->info());
  std::ifstream file(options.batches, std::ios::binary);
  std::ofstream losses(options.folder + "/losses.txt");
  losses.precision(9);
  Tensor image_batch(DType::kFloat32, {options.batch, 28, 28, 1}), label_batch(DType::kInt64, {options.batch});
  for (uint64_t step = 0; step < uint64_t(options.steps); ++step) {
    read(file, image_batch);
    read(file, label_batch);
    std::vector<TensorView> inputs;
    for (const auto& input : program->info().inputs) {
      inputs.push_back((input.name == "images" ? image_batch : label_batch).view());
    }
    value_or_raise(program->run({.inputs = inputs,
                                 .variables = parameters.variables,
                                 .updates = parameters.updates,
                                 .weights = {1, step + 1},
                                 .key = {0, step}}));
    losses << program->fetched()[0].as<float>()[0] << "\n";
    parameters.apply(op, step);
  }
}

}  // namespace
}  // namespace shoal

int main(int argc, char** argv) {
  if (argc != 7) {
    std::fprintf(stderr, "usage: train_cnn_trace <batches> <output folder> <backend> <batch> <steps> <learning rate>\n");
    return 2;
  }
  const shoal::Options options{argv[1],
                               argv[2],
                               *argv[3] ? argv[3] : shoal::backends::default_backend(),
                               std::atoll(argv[4]),
                               std::atoll(argv[5]),
                               std::atof(argv[6])};
  const auto done = shoal::call_user("train_cnn_trace", [&] { shoal::train(options); });
  if (done) return 0;
  std::fprintf(stderr, "%s\n", done.error().message().c_str());
  return shoal::exit_status(done.error().kind());
}
