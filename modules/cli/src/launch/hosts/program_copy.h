// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The program that is sent to hosts.
#include <string>

#include "shoal/base/storage.h"

namespace shoal::cli::launch {

struct ProgramCopy {
  std::string name;  ///< The file name, without folders.
  std::string bytes;
  std::string sum;  ///< The checksum in the form that cksum prints.
};
/// Reads the program. Errors: those of Storage::read_all().
Result<ProgramCopy> copy_of_program(Storage& storage, const std::string& file);

/// The text that cksum, a program of every Unix, prints for `bytes`: a CRC and the number of bytes (POSIX.1-2017, cksum).
std::string cksum_text(std::string_view bytes);

}  // namespace shoal::cli::launch
