// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Headers of tar archives: blocks of 512 bytes, and the records of pax headers. This code reads and writes no files.
///
/// Sources: POSIX.1-2017, the pax utility ("pax Interchange Format", "ustar Interchange Format"); the manual of GNU tar
/// 1.35, "Basic Tar Format" and "GNU Extensions to the Archive Format"; tar(5) of FreeBSD for archives of Version 7 Unix.
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "shoal/base/result.h"

namespace shoal::data {

inline constexpr size_t kTarBlockBytes = 512;
inline constexpr size_t kTarNameBytesMax = 64 << 10;
inline constexpr size_t kPaxBytesMax = 1 << 20;

using TarBlock = std::array<char, kTarBlockBytes>;

enum class TarKind {
  kFile,
  kOldFile,     ///< A file, or a folder if its name ends with a slash: archives of Version 7 have no type for folders.
  kNoContents,  ///< A folder, a symbolic link or a device. It has no contents, even if its header gives a size.
  kHardLink,    ///< Another name of a file that the archive has. It has no contents either.
  kOther,       ///< An entry that has contents but is no file.
  kSparse,      ///< A sparse file, stored without its holes.
  kPax,         ///< A pax header for the next entry.
  kGlobalPax,   ///< A pax header for all entries behind it.
  kLongName,    ///< The long name of the next entry, as GNU tar writes it.
  kLongLink,    ///< The target of the link that is the next entry, if it is too long for a header (GNU tar).
};

struct TarHeader {
  TarKind kind = TarKind::kFile;
  std::string name;
  uint64_t bytes = 0;  ///< The size of the contents in bytes. Always below 2^63.
};

bool is_zero_block(const TarBlock& block);

/// Parses a header. DataLoss if the checksum does not match the block, or the size is no number; the error does not tell
/// where in the archive the block is.
Result<TarHeader> parse_tar_header(const TarBlock& block);

/// Values from pax headers; they replace the values in the entry's header block.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<uint64_t> bytes;
  bool is_sparse = false;  ///< True if the pax header describes the holes of a file, as GNU tar does.
};

/// Reads records of the form "LENGTH KEY=VALUE\n", and stores the values that matter in `values`. DataLoss for records of
/// another form, a size that is no number, or a path that is too long; the error does not tell where in the archive the
/// record is.
Result<void> parse_pax(std::string_view records, PaxValues& values);

/// Returns the header blocks of a file: one, or at least three if it needs a pax header. `name` must be one
/// that TarWriter::append() accepts.
std::string encode_tar_header(std::string_view name, uint64_t bytes);

/// Returns the number of zero bytes that fill the last block of an entry whose contents have `bytes` bytes.
inline uint64_t tar_padding(uint64_t bytes) { return (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes; }

}  // namespace shoal::data
