// SPDX-License-Identifier: Apache-2.0
/// The cases of kernels_bench: an op without one fails here, so that whoever adds an op finds out how fast it is.
#include "kernel_cases.h"

#include <gmock/gmock.h>

#include "shoal/backends/backend.h"

namespace shoal::bench {
namespace {

using ::testing::IsEmpty;

TEST(KernelCases, EveryOpHasOne) {
  EXPECT_THAT(ops_without_case(kernel_cases()), IsEmpty())
      << "give it an entry in the table of bench/models/kernel_cases.cc";
}

TEST(KernelCases, OfMissingOpsAreNamed) {
  std::vector<KernelCase> cases = kernel_cases();
  std::erase_if(cases, [](const KernelCase& of) { return of.op == "conv2d"; });
  EXPECT_EQ(ops_without_case(cases), std::vector<std::string>{"conv2d"});
}

TEST(KernelCases, AreProgramsOfOneNode) {
  const auto backend = value_or_raise(backends::make_backend("reference"));
  for (const KernelCase& of : kernel_cases()) {
    SCOPED_TRACE(of.name());
    Graph graph;
    const auto fetches = add_case(graph, of);
    const auto program = backend->compile(graph, {.fetches = fetches});
    ASSERT_TRUE(program) << program.error().message();
    ASSERT_EQ((*program)->info().kernels.size(), 1u);
    EXPECT_EQ((*program)->info().kernels[0].op, of.op);
    EXPECT_GT((*program)->info().kernels[0].cost.flops, 0);
    EXPECT_GT((*program)->info().kernels[0].cost.bytes, 0);
  }
}

}  // namespace
}  // namespace shoal::bench
