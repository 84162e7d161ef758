// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The commands of the program `shoal` within any program on shoal::run(), so that a machine needs only one file:
///
///   ./train launch --workers 2 -- --model-dir m      trains as a cluster of processes of ./train
///   ./train status HOST:PORT                         shows the state of a running job
///
/// A program that links the CMake target shoal::tools has the commands without a call. Other programs call use_tools()
/// before run().

namespace shoal {

/// Gives the commands to run(). `launch` then launches this same program, and the words behind -- are its flags. Returns
/// true, so that the initializer of a variable can call it.
bool use_tools();

}  // namespace shoal
