// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The commands of the program `shoal` inside of any program on shoal::run(), so that one file is all that a machine needs:
///
///   ./train launch --workers 2 -- --model-dir m      trains as a cluster of processes of ./train
///   ./train status HOST:PORT                         what a running job does
///
/// A program that links the CMake target shoal::tools has them, and needs no call. Others call use_tools() before run().

namespace shoal {

/// Gives the commands to run(). `launch` then launches this very program; what stands behind -- are its flags. Returns true, so that
/// a variable can be initialized with it.
bool use_tools();

}  // namespace shoal
