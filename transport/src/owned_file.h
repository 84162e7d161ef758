// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Reads files that decide who may take part in a job. Their access rights are checked before their contents.
#include <chrono>
#include <cstdint>

#include "shoal/transport/certificate.h"

namespace shoal::transport {

enum class Others : uint8_t {
  kNothing,  ///< For a secret: users other than the owner may neither read nor write it.
  kRead,
};
struct OwnedFile {
  std::string path;
  std::string what;  ///< The kind of file, as error messages name it: "token file".
  size_t bytes_max = 0;
  Others others = Others::kNothing;
  std::string remedy;  ///< What the user should do in addition to a chmod, since others may have read the file.
  /// How long a pipe or a device may take to its end. The shell's <(command) is a pipe, and the command may ask for a
  /// password.
  std::chrono::milliseconds pipe_patience = std::chrono::seconds(20);
};
/// Returns the contents. FailedPrecondition: other users have more access than `others`. NotFound, Unavailable: the file
/// cannot be read. InvalidArgument: the path names a folder, or the file is too large. DeadlineExceeded: the path names a pipe
/// or a device, whose end has not come within `pipe_patience`.
Result<Secret> read_owned_file(const OwnedFile& file);

}  // namespace shoal::transport
