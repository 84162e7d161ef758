// SPDX-License-Identifier: Apache-2.0
/// oneDNN's exceptions become values at the border.
#include "guarded.h"

#include <gtest/gtest.h>

namespace shoal::backends::onednn {
namespace {

Result<std::unique_ptr<Kernel>> when_oneDNN_throws(dnnl_status_t status) {
  return guarded([status]() -> std::unique_ptr<Kernel> { throw dnnl::error(status, "could not create a primitive"); });
}

TEST(Guarded, WhatOneDnnDoesNotTakeIsNoError) {
  for (dnnl_status_t status : {dnnl_unimplemented, dnnl_invalid_arguments}) {
    const auto kernel = when_oneDNN_throws(status);
    ASSERT_TRUE(kernel) << kernel.error().message();
    EXPECT_EQ(*kernel, nullptr);
  }
}

TEST(Guarded, NoMemoryIsAnErrorThatMayPass) {
  const auto kernel = when_oneDNN_throws(dnnl_out_of_memory);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind(), ErrorKind::kUnavailable);
  EXPECT_NE(kernel.error().message().find("could not be allocated for oneDNN's code"), std::string::npos)
      << kernel.error().message();
}

TEST(Guarded, AnyOtherFailureIsAnError) {
  const auto kernel = when_oneDNN_throws(dnnl_runtime_error);
  ASSERT_FALSE(kernel);
  EXPECT_EQ(kernel.error().kind(), ErrorKind::kInternal);
  EXPECT_EQ(kernel.error().message(), "oneDNN failed: could not create a primitive (" +
                                          std::string(dnnl_status2str(dnnl_runtime_error)) +
                                          "); the backend \"reference\" computes without it, slowly");
}

}  // namespace
}  // namespace shoal::backends::onednn
