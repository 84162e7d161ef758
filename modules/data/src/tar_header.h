// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Headers of tar archives: blocks of 512 bytes, and the records of pax headers. Nothing here reads or writes a file.
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
  kOldFile,     ///< A file, but a folder where its name ends with a slash: archives of Version 7 have no type for folders.
  kNoContents,  ///< A folder, a link or a device, which has no contents, whatever its size says.
  kOther,       ///< Something that has contents and is no file.
  kSparse,      ///< A file that is stored without its holes.
  kPax,         ///< A pax header for the next entry.
  kGlobalPax,   ///< A pax header for all entries behind it.
  kLongName,    ///< GNU's long name of the next entry.
  kLongLink,    ///< GNU's long name of the target of the next entry, which is a link.
};

struct TarHeader {
  TarKind kind = TarKind::kFile;
  std::string name;
  uint64_t bytes = 0;  ///< Bytes of its contents. Always below 2^63.
};

bool is_zero_block(const TarBlock& block);

/// Takes a header apart. DataLoss, without a place, if the checksum is not that of the block, or the size is no number.
Result<TarHeader> parse_tar_header(const TarBlock& block);

/// Values from pax headers, which replace those of the entry's header block.
struct PaxValues {
  std::optional<std::string> path;
  std::optional<uint64_t> bytes;
  bool is_sparse = false;  ///< True where GNU tar describes the holes of a file here.
};

/// Reads records of the form "LENGTH KEY=VALUE\n", and puts the values that matter here into `values`. DataLoss, without a
/// place, for what is not of that form, for a size that is no number, and for a path that is too long.
Result<void> parse_pax(std::string_view records, PaxValues& values);

/// The header blocks of a file: one, or three and more where a pax header is needed. Any name that TarWriter::append()
/// takes.
std::string encode_tar_header(std::string_view name, uint64_t bytes);

/// Returns the number of zero bytes that fill the last block of an entry whose contents have `bytes` bytes.
inline uint64_t tar_padding(uint64_t bytes) { return (kTarBlockBytes - bytes % kTarBlockBytes) % kTarBlockBytes; }

}  // namespace shoal::data
