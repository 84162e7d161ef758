// SPDX-License-Identifier: Apache-2.0
#pragma once
/// An expectation for mistakes in building a graph: the whole sentence that the user reads.
#include <gtest/gtest.h>

#include <string>

#include "shoal/base/error.h"

#define EXPECT_REFUSED(expression, sentence)                   \
  try {                                                        \
    static_cast<void>(expression);                             \
    ADD_FAILURE() << #expression " was accepted";              \
  } catch (const ::shoal::Exception& e) {                      \
    EXPECT_EQ(e.kind(), ::shoal::ErrorKind::kInvalidArgument); \
    EXPECT_EQ(std::string(e.what()), sentence);                \
  }
