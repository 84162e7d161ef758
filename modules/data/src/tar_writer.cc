// SPDX-License-Identifier: Apache-2.0
// Writes tar archives.
#include <algorithm>
#include <cstring>
#include <span>

#include "shoal/base/storage.h"
#include "shoal/data/tar_files.h"
#include "tar_header.h"

namespace shoal::data {
namespace {

constexpr size_t kUstarNameBytes = 100, kUstarPrefixBytes = 155;
constexpr uint64_t kUstarSizeMax = (uint64_t(1) << 33) - 1;  // Eleven octal digits.

/// A path in two parts with a slash between them. If the prefix is empty, there is no slash.
struct SplitName {
  std::string_view prefix, name;
};

/// Splits a path at a slash into the two parts that a ustar header has room for. Returns nothing if no slash gives parts
/// that fit.
std::optional<SplitName> split_name(std::string_view path) {
  if (path.size() <= kUstarNameBytes) return SplitName{"", path};
  if (path.size() > kUstarPrefixBytes + 1 + kUstarNameBytes) return std::nullopt;
  // The name, behind the slash, may have at most 100 bytes. Takes the first slash with at most 100 bytes behind it, which
  // gives the shortest prefix. The search begins at 1: an empty prefix would lose the slash at the start of a path.
  const size_t slash = path.find('/', std::max<size_t>(path.size() - kUstarNameBytes - 1, 1));
  if (slash == std::string_view::npos || slash > kUstarPrefixBytes) return std::nullopt;
  return SplitName{path.substr(0, slash), path.substr(slash + 1)};
}

void put_text(TarBlock& block, size_t begin, std::string_view text) {
  std::memcpy(block.data() + begin, text.data(), text.size());
}

/// Writes `value` as `digits` octal digits; the byte behind them stays 0.
void put_octal(TarBlock& block, size_t begin, size_t digits, uint64_t value) {
  for (size_t i = digits; i-- > 0; value >>= 3) block[begin + i] = char('0' + (value & 7));
}

std::string header_block(char type, const SplitName& name, uint64_t bytes) {
  TarBlock block{};
  put_text(block, 0, name.name);
  put_octal(block, 100, 7, 0644);  // Mode.
  put_octal(block, 108, 7, 0);     // Owner.
  put_octal(block, 116, 7, 0);     // Group.
  put_octal(block, 124, 11, bytes);
  put_octal(block, 136, 11, 0);  // Time.
  put_text(block, 148, "        ");
  block[156] = type;
  put_text(block, 257, {"ustar\00000", 8});
  put_octal(block, 329, 7, 0);  // Numbers of a device.
  put_octal(block, 337, 7, 0);
  put_text(block, 345, name.prefix);
  uint64_t sum = 0;
  for (const char byte : block) sum += uint8_t(byte);
  put_octal(block, 148, 6, sum);
  block[154] = 0;
  return {block.data(), block.size()};
}

/// Makes a record of a pax header. The length at its start counts the length's own digits, too.
std::string pax_record(std::string_view key, std::string_view value) {
  const std::string text = " " + std::string(key) + "=" + std::string(value) + "\n";
  size_t length = text.size();
  while (std::to_string(length).size() + text.size() != length) length = std::to_string(length).size() + text.size();
  return std::to_string(length) + text;
}

std::string padded(std::string bytes) {
  bytes.append(size_t(tar_padding(bytes.size())), '\0');
  return bytes;
}

}  // namespace

std::string encode_tar_header(std::string_view name, uint64_t bytes) {
  const std::optional<SplitName> split = split_name(name);
  std::string pax;
  if (!split) pax += pax_record("path", name);
  if (bytes > kUstarSizeMax) pax += pax_record("size", std::to_string(bytes));
  std::string header;
  if (!pax.empty()) header = header_block('x', {"", "././@PaxHeader"}, pax.size()) + padded(pax);
  // The beginning of the name, used if the whole does not fit. The pax header has the full name, so only programs that
  // ignore pax headers show this one.
  const SplitName cut{"", name.substr(0, kUstarNameBytes)};
  return header + header_block('0', split.value_or(cut), bytes > kUstarSizeMax ? 0 : bytes);
}

TarWriter::TarWriter(WritableFile* file) : file_(file) {}
TarWriter::TarWriter(TarWriter&&) noexcept = default;
TarWriter& TarWriter::operator=(TarWriter&&) noexcept = default;
TarWriter::~TarWriter() = default;

Result<TarWriter> TarWriter::create(const std::string& path) { return create(*make_file_storage(), path); }

Result<TarWriter> TarWriter::create(Storage& storage, const std::string& path) {
  SHOAL_TRY(std::unique_ptr<WritableFile> file, storage.create(path));
  return TarWriter(file.release());
}

Result<void> TarWriter::append(std::string_view name, std::string_view contents) {
  if (name.empty() || name.find('\0') != std::string_view::npos || name.ends_with('/') || name.size() > kTarNameBytesMax) {
    return invalid_argument(
        "the name of a file in a tar archive is empty, has a byte of 0, ends with a slash, or has more than 64 KiB");
  }
  const std::string header = encode_tar_header(name, contents.size());
  SHOAL_TRY_VOID(file_->append(std::as_bytes(std::span(header))));
  SHOAL_TRY_VOID(file_->append(std::as_bytes(std::span(contents))));
  const std::string padding(size_t(tar_padding(contents.size())), '\0');
  return file_->append(std::as_bytes(std::span(padding)));
}

Result<void> TarWriter::finish() {
  const std::string end(2 * kTarBlockBytes, '\0');
  SHOAL_TRY_VOID(file_->append(std::as_bytes(std::span(end))));
  SHOAL_TRY_VOID(file_->sync());
  return file_->close();
}

}  // namespace shoal::data
