// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The numbers in zip archives, for the reader and the writer. All of them are little-endian.
///
///   local header   signature, version needed, flags, method, time, date, CRC-32, packed bytes, bytes, lengths of the name
///                  and of the extra fields; name; extra fields; then the bytes of the member
///   directory      for each member: signature, version made by, version needed, flags, method, time, date, CRC-32, packed
///                  bytes, bytes, lengths of name, extra fields and comment, disk, attributes (2 and 4 bytes), offset of
///                  the local header; name; extra fields; comment
///   zip64 end      signature, bytes of this part that follow this number (8 bytes), versions, disks, members (8 bytes,
///                  twice), bytes of the directory (8 bytes), offset of the directory (8 bytes)
///   locator        signature, disk, offset of the zip64 end, number of disks
///   end            signature, disks, members (twice), bytes and offset of the directory, length of the comment; comment
#include <cstddef>
#include <cstdint>

namespace shoal::data {

inline constexpr uint32_t kZipLocalSignature = 0x04034b50, kZipDirectorySignature = 0x02014b50,
                          kZipEndSignature = 0x06054b50, kZip64EndSignature = 0x06064b50,
                          kZip64LocatorSignature = 0x07064b50;
inline constexpr size_t kZipLocalBytes = 30, kZipDirectoryBytes = 46, kZipEndBytes = 22, kZip64EndBytes = 56,
                        kZip64LocatorBytes = 20;

inline constexpr uint16_t kZipStored = 0, kZipDeflated = 8;
inline constexpr uint16_t kZipEncryptedFlag = 1 << 0, kZipPatchFlag = 1 << 5, kZipUtf8Flag = 1 << 11,
                          kZipMaskedFlag = 1 << 13;
inline constexpr uint16_t kZip64ExtraId = 1;
/// If a field of 16 or 32 bits has this value, its number is too large, and the archive stores it in a zip64 field.
inline constexpr uint16_t kZip64Mark16 = 0xffff;
inline constexpr uint32_t kZip64Mark32 = 0xffffffff;

}  // namespace shoal::data
