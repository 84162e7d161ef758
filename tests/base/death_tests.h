// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How death tests run, for programs that know SHOAL_TEST_EMULATOR: what starts programs of this build where the kernel
/// cannot, "" where it can.
namespace shoal {

/// The style of death tests. Beside threads a fork is unsafe without an exec, which an emulated program cannot do.
inline const char* death_test_style() { return *SHOAL_TEST_EMULATOR ? "fast" : "threadsafe"; }

}  // namespace shoal
