// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Adds the commands of the program `shoal` to a user's program that calls shoal::run(), so that a machine needs only this
/// one program:
///
///   ./train launch --workers 2 -- --model-dir m      trains as a cluster of processes of ./train
///   ./train status HOST:PORT                         shows the state of a running job
///
/// A program that links the CMake target shoal::tools has the commands without further code. Other programs call
/// use_tools() before run().

namespace shoal {

/// Makes shoal::run() accept the commands of the program `shoal`. The command `launch` then starts processes of the calling
/// program, and the words behind -- are the flags of these processes. Returns true, so that the initializer of a variable
/// can call this function.
bool use_tools();

}  // namespace shoal
