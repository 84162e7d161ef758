// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Compiles subjects in the ways that users have, and compares.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "compiled_sources.h"

namespace shoal::convert::testing {

/// The flag that lets g++ and clang fuse on this machine.
inline std::string fused_flag() {
#if defined(__x86_64__)
  return " -mfma";
#else
  return "";
#endif
}

/// Why nothing can be compiled for this machine here; empty if it can.
inline std::string why_not_here() {
  if (!has_program("g++")) return "there is no g++";
  if (!has_fma()) return "this processor has no fused multiply-adds";
  return "";
}

/// Compiles and compares; `tolerance` 0 asks for equal bits.
inline void expect_results(const std::vector<Subject>& subjects, const Compiler& compiler, double tolerance = 0) {
  const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(::testing::TempDir()) /
                      ("shoal_cpp_" + std::string(test->test_suite_name()) + "_" + test->name());
  const auto outcomes = run_compiled(subjects, compiler, folder);
  ASSERT_TRUE(outcomes) << compiler.program << " " << compiler.flags << ": " << outcomes.error().message();
  for (size_t i = 0; i < subjects.size(); ++i) {
    EXPECT_EQ((*outcomes)[i].succeeded, !subjects[i].expected.empty()) << subjects[i].name;
    EXPECT_LE(largest_difference(subjects[i], (*outcomes)[i]), tolerance) << subjects[i].name << ": " << compiler.flags;
  }
  if (!std::getenv("SHOAL_KEEP_SOURCES")) std::filesystem::remove_all(folder);
}

}  // namespace shoal::convert::testing
