// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Records with the checksums of TFRecord, made of an input in which no mutation could find them.
#include <string>

#include "shoal/base/record_framing.h"
#include "target.h"

namespace shoal::fuzz {

/// Takes all records of `input`, each behind two bytes of its length, and returns the file that holds them.
inline std::string framed(Input& input) {
  std::string file;
  while (input.size() > 0) {
    const auto payload = input.take_bytes(input.take<uint16_t>());
    append_record(file, {reinterpret_cast<const char*>(payload.data()), payload.size()});
  }
  return file;
}

}  // namespace shoal::fuzz
