// SPDX-License-Identifier: Apache-2.0
/// A step allocates nothing: counted with a replaced operator new. oneDNN itself makes a small table of arguments in every
/// dnnl_primitive_execute(), which nobody outside can prevent; what it allocates is told apart by the caller's address.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <new>

#include "run_graph.h"
#include "shoal/graph/ops.h"

namespace {
std::atomic<int64_t> g_allocations{0};
std::atomic<int64_t> g_allocations_of_onednn{0};

bool inside_onednn(void* caller) {
  Dl_info found;
  return dladdr(caller, &found) != 0 && found.dli_fname && std::strstr(found.dli_fname, "libdnnl");
}

void* counted(std::size_t bytes, std::size_t alignment, void* caller) {
  (inside_onednn(caller) ? g_allocations_of_onednn : g_allocations).fetch_add(1, std::memory_order_relaxed);
  void* memory = alignment > alignof(std::max_align_t)
                     ? std::aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment)
                     : std::malloc(bytes == 0 ? 1 : bytes);
  if (!memory) std::abort();
  return memory;
}
/// Out of line, since the compiler warns of free() for a pointer that it saw come from operator new.
[[gnu::noinline]] void give_back(void* memory) { std::free(memory); }

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 1, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return counted(bytes, 1, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, std::size_t(alignment), __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, std::size_t(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, 1, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return counted(bytes, 1, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { give_back(memory); }
void operator delete[](void* memory) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept { give_back(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { give_back(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { give_back(memory); }

namespace shoal::backends::testing {
namespace {

/// A small CNN with dropout: every kind of kernel that training uses.
struct Cnn {
  Graph graph{RandomKey{3}};
  std::vector<Value> variables;
  Value loss;
  Feeds feeds;

  Value variable(const char* name, Shape shape) {
    variables.push_back(graph.variable(name, shape));
    Tensor tensor(DType::kFloat32, shape);
    fill_uniform(variables.size(), 0, tensor.mutable_as<float>(), -0.1f, 0.1f);
    feeds.emplace(name, std::move(tensor));
    return variables.back();
  }

  Cnn() {
    const Value x = graph.input("x", DType::kFloat32, {8, 12, 12, 1});
    const Value labels = graph.input("labels", DType::kInt64, {8});
    Value h = ops::relu(ops::conv2d(x, variable("c1", {8, 1, 5, 5}), variable("b1", {8}), {.padding = Padding::same()}));
    h = ops::avg_pool(ops::max_pool(h));
    h = ops::dropout(ops::flatten(h), 0.4);
    h = ops::dense(h, variable("k", {10, 72}), variable("b2", {10}));
    loss = ops::reduce_mean(ops::softmax_cross_entropy({.labels = labels, .logits = h}).loss);
    Tensor images(DType::kFloat32, {8, 12, 12, 1});
    fill_uniform(9, 0, images.mutable_as<float>(), 0, 1);
    feeds.emplace("x", std::move(images));
    feeds.emplace("labels", Tensor::of<int64_t>({8}, {0, 1, 2, 3, 4, 5, 6, 7}));
  }
};

class Allocation : public ::testing::TestWithParam<std::string> {};

TEST_P(Allocation, ATrainingStepAllocatesNothing) {
  Cnn cnn;
  const auto backend = backend_or_die(GetParam());
  const auto updates = gradients(cnn.loss, cnn.variables);
  auto program = value_or_raise(backend->compile(cnn.graph, {.fetches = {cnn.loss}, .updates = updates}));
  // Bound by hand, once: the first kernel's variable in two pieces, as if split over shards.
  std::vector<TensorView> inputs;
  for (const auto& input : program->info().inputs) inputs.push_back(cnn.feeds.at(input.name).view());
  std::vector<std::vector<Piece>> pieces;
  for (const auto& variable : program->info().variables) {
    const std::byte* data = cnn.feeds.at(variable.name).view().data;
    pieces.push_back({{data, 0, variable.shape[0]}});
    if (variable.name == "c1") pieces.back() = {{data, 0, 3}, {data + size_t(3) * 25 * sizeof(float), 3, 8}};
  }
  std::vector<Tensor> memory;
  std::vector<std::vector<MutablePiece>> update_pieces;
  for (const Value& update : updates) {
    memory.emplace_back(DType::kFloat32, value_or_raise(update.shape().resolve({})));
    update_pieces.push_back({{memory.back().mutable_view().data, 0, memory.back().shape()[0]}});
  }
  const std::vector<Pieces> variables(pieces.begin(), pieces.end());
  const std::vector<MutablePieces> outs(update_pieces.begin(), update_pieces.end());

  // The first runs make what is kept (rows gathered, weights reordered).
  int64_t before = 0;
  int64_t of_onednn = 0;
  for (uint64_t step = 0; step < 23; ++step) {
    if (step == 3) {
      before = g_allocations.load();
      of_onednn = g_allocations_of_onednn.load();
    }
    ASSERT_TRUE(program->run(
        {.inputs = inputs, .variables = variables, .updates = outs, .weights = {1, step + 1}, .key = {0, step}}));
  }
  const int64_t ours = g_allocations.load() - before;
  const int64_t theirs = g_allocations_of_onednn.load() - of_onednn;
  std::cout << GetParam() << ": allocations in 20 steps: " << ours << " of Shoal, " << theirs << " inside libdnnl\n";
  EXPECT_EQ(ours, 0);
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const BackendEntry& entry : built_in_backends()) result.push_back(entry.name);
  return result;
}
INSTANTIATE_TEST_SUITE_P(Backends, Allocation, ::testing::ValuesIn(names()),
                         [](const auto& test_info) { return test_info.param; });

TEST(AllocationCounter, Counts) {
  const int64_t before = g_allocations.load();
  auto* leak = new std::vector<int>(100);
  const int64_t after = g_allocations.load();
  delete leak;
  EXPECT_EQ(after - before, 2);
}

}  // namespace
}  // namespace shoal::backends::testing
