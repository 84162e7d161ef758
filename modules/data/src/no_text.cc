// SPDX-License-Identifier: Apache-2.0
#include "no_text.h"

#include <algorithm>

namespace shoal::data {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

struct Kind {
  std::string_view magic;  ///< The bytes with which files of this kind begin.
  const char* sentence;
};

constexpr const char* kWorkbook = "is a workbook or document of Microsoft Office; save the sheet as CSV (UTF-8) there";

/// The first entry whose bytes a file begins with tells the kind of the file. So if one entry's bytes begin with those of
/// another entry, the entry with more bytes comes first.
constexpr Kind kKinds[] = {
    {"PK\x03\x04"sv, "is a zip archive (.xlsx and .ods files are, too); unpack it with unzip, or save the sheet as CSV"},
    {"PK\x05\x06"sv, "is a zip archive with nothing in it"},
    {"\x1f\x8b"sv,
     "is compressed with gzip, which is undone once for a file and never for standard input; decompress it first, for "
     "example with gunzip -c"},
    {"\xfd"
     "7zXZ\0"sv,
     "is compressed with xz; decompress it with unxz (gzip, zstd and lz4 are read as they are)"},
    {"\x28\xb5\x2f\xfd"sv,
     "is compressed with zstd, which is undone once for a file and never for standard input; decompress it first, for "
     "example with "
     "unzstd -c"},
    {"\x04\x22\x4d\x18"sv,
     "is compressed with lz4, which is undone once for a file and never for standard input; decompress it first, for "
     "example with "
     "unlz4 -c"},
    {"\x1f\x9d"sv,
     "is compressed with compress (.Z); decompress it with uncompress or gunzip -c (gzip, zstd and lz4 are read as they "
     "are)"},
    {"\x5d\0\0"sv, "is compressed with lzma; decompress it with unlzma (gzip, zstd and lz4 are read as they are)"},
    {"LZIP\x01"sv, "is compressed with lzip; decompress it with lzip -d (gzip, zstd and lz4 are read as they are)"},
    {"7z\xbc\xaf\x27\x1c"sv, "is a 7z archive; unpack it with 7z x"},
    {"Rar!\x1a\x07"sv, "is a rar archive; unpack it with unrar"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, kWorkbook},
    {"PAR1\x15"sv, "is a Parquet file; write it as CSV, for example with pandas.read_parquet(...).to_csv(...)"},
    {"ARROW1\0"sv, "is an Arrow file; write it as CSV, for example with pandas.read_feather(...).to_csv(...)"},
    {"SQLite format 3\0"sv, "is a database of SQLite; write the table as CSV, for example with sqlite3 -header -csv"},
    {"\x89HDF\r\n"sv, "is an HDF5 file; write the table as CSV"},
    {"\x93NUMPY"sv, "is an array of NumPy; read it by npy_rows(), or write it as CSV, for example with numpy.savetxt"},
    {"\x89PNG\r\n"sv, "is an image (PNG); what is read is text"},
    {"\xff\xd8\xff"sv, "is an image (JPEG); what is read is text"},
    {"GIF87a"sv, "is an image (GIF); what is read is text"},
    {"GIF89a"sv, "is an image (GIF); what is read is text"},
    {"ORC\x1a"sv, "is an ORC file; write it as CSV, for example with pandas.read_orc(...).to_csv(...)"},
    {"Obj\x01"sv, "is an Avro file; write the table as CSV"},
    {"\x80\x04\x95"sv,
     "is a pickle of Python; write the table as CSV, for example with pandas.read_pickle(...).to_csv(...)"},
    {"\x80\x05\x95"sv,
     "is a pickle of Python; write the table as CSV, for example with pandas.read_pickle(...).to_csv(...)"},
    {"{\\rtf"sv, "is a document in RTF; save the table as CSV (UTF-8)"},
    {"%PDF-"sv, "is a PDF document; what is read is text"},
    {"version https://git-lfs.github.com/"sv, "is a pointer of Git LFS in the place of the file; git lfs pull fetches it"},
    {"<!DOCTYPE html"sv, "is a page of HTML; was the page saved in the place of the file that it links to?"},
    {"<!doctype html"sv, "is a page of HTML; was the page saved in the place of the file that it links to?"},
    {"<html"sv, "is a page of HTML; was the page saved in the place of the file that it links to?"},
    {"\xff\xfe\0\0"sv, "is text in UTF-32; write it as UTF-8, for example with iconv -f UTF-32 -t UTF-8"},
    {"\0\0\xfe\xff"sv, "is text in UTF-32; write it as UTF-8, for example with iconv -f UTF-32 -t UTF-8"},
    {"\xff\xfe"sv, "is text in UTF-16; write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"},
    {"\xfe\xff"sv, "is text in UTF-16; write it as UTF-8, for example with iconv -f UTF-16 -t UTF-8"},
};

constexpr size_t kTarMagicAt = 257;  // Offset of "ustar" in the header of a tar archive's first file (POSIX.1-1988).
constexpr std::string_view kTarMagic = "ustar";
constexpr std::string_view kBzip2Block = "1AY&SY";  // These bytes follow "BZh" and a digit.

constexpr size_t kZerosLookedAt = 256;

/// Returns "UTF-16LE" or "UTF-16BE" if the text looks like it: Latin letters then have two bytes, one of which is 0. In
/// UTF-16LE that is the second one of each pair, in UTF-16BE the first one.
std::optional<std::string> utf_16_of(std::string_view begin) {
  begin = begin.substr(0, kZerosLookedAt);
  size_t zeros[2] = {};
  for (size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0';
  const size_t most = std::max(zeros[0], zeros[1]), least = std::min(zeros[0], zeros[1]);
  if (most == 0 || least > 0 || 4 * most < begin.size()) return std::nullopt;
  return zeros[0] > 0 ? "UTF-16BE" : "UTF-16LE";
}

/// Recognises UTF-32, in which three of the four bytes of each Latin letter are zero.
std::optional<std::string> utf_32_of(std::string_view begin) {
  begin = begin.substr(0, std::min(kZerosLookedAt, begin.size() / 4 * 4));
  size_t letters[4] = {};
  for (size_t i = 0; i < begin.size(); ++i) letters[i % 4] += begin[i] != '\0';
  const size_t all = letters[0] + letters[1] + letters[2] + letters[3];
  if (begin.empty() || 4 * all != begin.size() || std::max(letters[0], letters[3]) != all) return std::nullopt;
  return letters[0] > 0 ? "UTF-32LE" : "UTF-32BE";
}

std::optional<std::string> other_encoding(std::string_view begin) {
  auto name = utf_32_of(begin);
  if (!name) name = utf_16_of(begin);
  if (!name) return std::nullopt;
  return "is text in " + name->substr(0, 6) + "; write it as UTF-8, for example with iconv -f " + *name + " -t UTF-8";
}

constexpr const char* kLoneCr =
    "has lines that end with CR alone, as those of old Macintosh programs; make them LF, for example with tr '\\r' '\\n'";

/// True if the first line contains a CR outside of quotes that is followed neither by an LF nor by another CR. The lines of
/// such a file seem to end with a CR alone.
bool has_lone_cr(std::string_view begin, const CsvSyntax& syntax) {
  CsvState state = CsvState::kFieldBegin;
  for (size_t i = 0; i < begin.size() && (begin[i] != '\n' || state == CsvState::kQuoted); ++i) {
    const bool inside = i + 1 < begin.size() && begin[i + 1] != '\n' && begin[i + 1] != '\r';
    if (begin[i] == '\r' && state != CsvState::kQuoted && inside) return true;
    state = csv_state_after(state, begin[i], syntax);
  }
  return false;
}

}  // namespace

size_t byte_order_mark_in(std::string_view begin) { return begin.starts_with(kByteOrderMark) ? kByteOrderMark.size() : 0; }

bool may_become_byte_order_mark(std::string_view begin) {
  return begin.size() < kByteOrderMark.size() && kByteOrderMark.starts_with(begin);
}

std::optional<std::string> what_is_no_text(std::string_view begin) {
  for (const Kind& kind : kKinds) {
    if (begin.starts_with(kind.magic)) return kind.sentence;
  }
  if (begin.starts_with("BZh") && begin.substr(std::min<size_t>(begin.size(), 4)).starts_with(kBzip2Block)) {
    return "is compressed with bzip2; decompress it with bunzip2 (gzip, zstd and lz4 are read as they are)";
  }
  if (begin.size() > kTarMagicAt && begin.substr(kTarMagicAt).starts_with(kTarMagic)) {
    return "is a tar archive; read samples by tar_samples(), or unpack it with tar xf, and give the file in it";
  }
  return std::nullopt;
}

std::optional<std::string> what_are_no_lines(std::string_view begin) {
  if (auto what = what_is_no_text(begin)) return what;
  if (auto what = other_encoding(begin)) return what;
  const bool lone_cr = begin.find('\n') == std::string_view::npos && has_lone_cr(begin, {.quoting = false});
  return lone_cr ? std::optional<std::string>(kLoneCr) : std::nullopt;
}

std::optional<std::string> what_is_no_table(std::string_view begin, const CsvSyntax& syntax) {
  if (auto what = what_is_no_text(begin)) return what;
  if (auto what = other_encoding(begin)) return what;
  if (begin.substr(0, kZerosLookedAt).find('\0') != std::string_view::npos) {
    return "has bytes of 0 in it, so that it is no text; is it another file?";
  }
  if (has_lone_cr(begin, syntax)) return kLoneCr;
  const bool json = begin.starts_with("{\"") || begin.starts_with("[{\"");
  if (json && syntax.quoting)
    return "is JSON; read lines of JSON by json_lines(), or write it as CSV, for example with "
           "pandas.read_json(...).to_csv(...)";
  if (begin.starts_with("<?xml ")) return "is XML; if it is a workbook, save the sheet as CSV (UTF-8)";
  return std::nullopt;
}

}  // namespace shoal::data
