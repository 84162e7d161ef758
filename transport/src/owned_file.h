// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files that decide who takes part in a job: their access rights are looked at before what they hold.
#include <cstdint>

#include "shoal/transport/certificate.h"

namespace shoal::transport {

enum class Others : uint8_t {
  kNothing,  ///< A secret: others than its owner may neither read nor write it.
  kRead,
};
struct OwnedFile {
  std::string path;
  std::string what;  ///< Such as "token file", for sentences.
  size_t bytes_max = 0;
  Others others = Others::kNothing;
  std::string remedy;  ///< What to do beside the chmod, if others may have read it.
};
/// What it holds. FailedPrecondition: others have more access. NotFound, Unavailable: it cannot be read. InvalidArgument: a
/// folder, or too large.
Result<Secret> read_owned_file(const OwnedFile& file);

}  // namespace shoal::transport
