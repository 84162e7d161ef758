#include "no_text.h"

#include <algorithm>

namespace shoal::data {
namespace {

using namespace std::string_view_literals;

struct Kind {
  std::string_view magic;  ///< The bytes that such a file begins with.
  const char* sentence;
};

constexpr const char* kWorkbook = "is a workbook or document of Microsoft Office; save the sheet as CSV (UTF-8) there";

/// The longer one comes first where one begins as another does.
constexpr Kind kKinds[] = {
    {"PK\x03\x04"sv, "is a zip archive (.xlsx and .ods files are, too); unpack it with unzip, or save the sheet as CSV"},
    {"PK\x05\x06"sv, "is a zip archive with nothing in it"},
    {"\x1f\x8b"sv,
     "is compressed with gzip, which is undone once for a file and never for standard input; decompress it first, for "
     "example with gunzip -c"},
    {"\xfd"
     "7zXZ\0"sv,
     "is compressed with xz; decompress it with unxz (gzip is read as it is)"},
    {"\x28\xb5\x2f\xfd"sv, "is compressed with zstd; decompress it with unzstd (gzip is read as it is)"},
    {"\x04\x22\x4d\x18"sv, "is compressed with lz4; decompress it with unlz4 (gzip is read as it is)"},
    {"7z\xbc\xaf\x27\x1c"sv, "is a 7z archive; unpack it with 7z x"},
    {"Rar!\x1a\x07"sv, "is a rar archive; unpack it with unrar"},
    {"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"sv, kWorkbook},
    {"PAR1\x15"sv, "is a Parquet file; write it as CSV, for example with pandas.read_parquet(...).to_csv(...)"},
    {"ARROW1\0"sv, "is an Arrow file; write it as CSV, for example with pandas.read_feather(...).to_csv(...)"},
    {"SQLite format 3\0"sv, "is a database of SQLite; write the table as CSV, for example with sqlite3 -header -csv"},
    {"\x89HDF\r\n\x1a\n"sv, "is an HDF5 file; write the table as CSV"},
    {"\x93NUMPY"sv, "is an array of NumPy; write it as CSV, for example with numpy.savetxt"},
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

constexpr size_t kTarMagicAt = 257;  // POSIX.1-1988 ("ustar"): the header of an archive's first file.
constexpr std::string_view kTarMagic = "ustar";
constexpr std::string_view kBzip2Block = "1AY&SY";  // Behind "BZh" and a digit.

/// Latin letters in UTF-16 have a zero byte each, all at even places or all at odd ones.
std::string zero_bytes(std::string_view begin) {
  size_t zeros[2] = {};
  for (size_t i = 0; i < begin.size(); ++i) zeros[i % 2] += begin[i] == '\0';
  const size_t most = std::max(zeros[0], zeros[1]), least = std::min(zeros[0], zeros[1]);
  if (least > 0 || 4 * most < begin.size()) return "has bytes of 0 in it, so that it is no text; is it another file?";
  const std::string name = zeros[0] > 0 ? "UTF-16BE" : "UTF-16LE";
  return "is text in UTF-16; write it as UTF-8, for example with iconv -f " + name + " -t UTF-8";
}

/// Whether the first line goes on after a CR that stands outside of quotes.
bool has_lone_cr(std::string_view begin) {
  bool quoted = false;
  for (size_t i = 0; i < begin.size() && begin[i] != '\n'; ++i) {
    if (begin[i] == '"') quoted = !quoted;
    const bool inside = i + 1 < begin.size() && begin[i + 1] != '\n' && begin[i + 1] != '\r';
    if (begin[i] == '\r' && !quoted && inside) return true;
  }
  return false;
}

}  // namespace

std::optional<std::string> what_is_no_text(std::string_view begin) {
  for (const Kind& kind : kKinds) {
    if (begin.starts_with(kind.magic)) return kind.sentence;
  }
  if (begin.starts_with("BZh") && begin.substr(std::min<size_t>(begin.size(), 4)).starts_with(kBzip2Block)) {
    return "is compressed with bzip2; decompress it with bunzip2 (gzip is read as it is)";
  }
  if (begin.size() > kTarMagicAt && begin.substr(kTarMagicAt).starts_with(kTarMagic)) {
    return "is a tar archive; unpack it with tar xf, and give the file in it";
  }
  return std::nullopt;
}

std::optional<std::string> what_is_no_table(std::string_view begin) {
  if (auto what = what_is_no_text(begin)) return what;
  if (begin.substr(0, 256).find('\0') != std::string_view::npos) return zero_bytes(begin.substr(0, 256));
  if (has_lone_cr(begin)) {
    return "has lines that end with CR alone, as those of old Macintosh programs; make them LF, for example with "
           "tr '\\r' '\\n'";
  }
  return std::nullopt;
}

}  // namespace shoal::data
