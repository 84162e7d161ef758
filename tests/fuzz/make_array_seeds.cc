// SPDX-License-Identifier: Apache-2.0
// The seeds of the targets that read arrays of NumPy, safetensors files and lines of JSON.
#include "crc32.h"
#include "make_file_seeds.h"
#include "shoal/base/record_framing.h"
#if SHOAL_FUZZ_ZLIB
#include "deflated.h"
#endif

namespace shoal::fuzz {
namespace {

/// An NPY file with no more blanks than it needs.
std::string npy(const std::string& descr, const std::string& order, const std::string& shape, const std::string& bytes,
                char version = 1) {
  const std::string text = "{'descr': '" + descr + "', 'fortran_order': " + order + ", 'shape': " + shape + ", }\n";
  std::string file = std::string("\x93NUMPY") + version + '\0';
  append_little_endian(file, uint16_t(text.size()));
  return file + (version > 1 ? std::string(2, '\0') : std::string()) + text + bytes;
}

uint32_t crc_of(const std::string& contents) { return data::crc32_of(std::as_bytes(std::span(contents))); }

/// An archive with one member, stored.
std::string archive(const std::string& name, const std::string& contents) {
  std::string fields("\0\0\0\0\x21\0", 6);
  append_little_endian(fields, crc_of(contents));
  append_little_endian(fields, uint32_t(contents.size()));
  append_little_endian(fields, uint32_t(contents.size()));
  append_little_endian(fields, uint16_t(name.size()));
  fields += std::string(2, '\0');
  const std::string local = std::string("PK\3\4\x14\0\0\0", 8) + fields + name + contents;
  const std::string directory = std::string("PK\1\2\x14\0\x14\0\0\0", 10) + fields + std::string(14, '\0') + name;
  std::string end("PK\5\6\0\0\0\0\1\0\1\0", 12);
  append_little_endian(end, uint32_t(directory.size()));
  append_little_endian(end, uint32_t(local.size()));
  return local + directory + end + std::string(2, '\0');
}

}  // namespace

void write_array_seeds(const std::filesystem::path& folder) {
  const auto arrays = [&](const std::string& name, char how, const std::string& bytes) {
    write_seed(folder, "npy_file", name, how + bytes);
  };
  const std::string bytes = npy("|u1", "False", "(2, 3)", "abcdef");
  arrays("bytes", 0, bytes);
  arrays("floats", 0, npy("<f4", "False", "(3,)", std::string(12, '\x3f')));
  arrays("doubles_fortran", 0, npy(">f8", "True", "(2, 2)", std::string(32, '\x40'), 2));
  arrays("halves", 0, npy("<f2", "False", "()", "ab", 3));
  arrays("shorts", 0, npy(">i2", "False", "(1, 2)", "abcd"));
  arrays("unsigned", 0, npy("<u8", "False", "(1,)", std::string(8, '\1')));
  arrays("bools", 0, npy("|b1", "True", "(2, 2)", std::string("\0\1\1\0", 4)));
  arrays("text", 0, npy("<U2", "False", "(2,)", std::string("a\0\0\0\xe4\0\0\0b\0\0\0\0\0\0\0", 16)));
  arrays("texts_of_bytes", 0, npy("|S3", "True", "(2, 1)", std::string("ab\0cde", 6)));
  arrays("objects", 0, npy("|O", "False", "(1,)", "x"));
  arrays("archive", 1, archive("a.npy", bytes));
  arrays("stored", 2, std::string(1, '\0') + bytes);
  arrays("stored_changed", 2, std::string("\2\x0e\0\1\x20\0\1", 7) + npy("<i4", "False", "(1,)", "abcd"));
  arrays("stored_zip64", 2 + 4, std::string(1, '\0') + bytes);
  arrays("stored_zip64_changed", 2 + 4, std::string("\1\x90\0\1", 4) + bytes);
  arrays("deflated", 3, std::string(1, '\0') + npy("|u1", "False", "(100,)", std::string(100, 'x')));
  arrays("deflated_changed", 3, std::string("\1\x2a\0\1", 4) + bytes);
#if SHOAL_FUZZ_ZLIB
  arrays("archive_deflated", 1, deflated_archive("a.npy", bytes, crc_of(bytes)));
#endif
  const auto tensors = [&](const std::string& name, const std::string& header, const std::string& contents) {
    write_seed(folder, "safetensors", name, bytes_of(uint64_t(header.size())) + header + contents);
  };
  tensors("two",
          R"({"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},)"
          R"("u":{"dtype":"BOOL","shape":[],"data_offsets":[8,9]}})",
          std::string("abcdefgh\1"));
  tensors("narrow",
          R"({"t":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},)"
          R"("u":{"dtype":"BF16","shape":[1],"data_offsets":[4,6]}})",
          "abcdef");
  tensors("wide",
          R"({"t":{"dtype":"F64","shape":[1,1],"data_offsets":[0,8]},)"
          R"("u":{"dtype":"I64","shape":[0],"data_offsets":[8,8]}})",
          "abcdefgh");
  tensors("other", R"({"t":{"dtype":"F8_E4M3","shape":[3],"data_offsets":[0,3]}})", "abc");
  const auto lines = [&](const std::string& name, char how, const std::string& file) {
    write_seed(folder, "json_lines", name, how + (bytes_of(uint16_t(400)) + file));
  };
  const std::string line =
      R"({"t":"a\u00e4","f":1.5e0,"i":-7,"b":true,"p":[1,2],"g":[[0.5],[1]],"o":{"w":["x",""],"n":3},"z":null})";
  lines("one", 0, line);
  lines("labels", 3, line + "\n\n" + line + "\r\n");
  lines("missing", 4, "{\"o\":null}\n{\"i\":9223372036854775807,\"f\":16777217}\n{\"o\":{\"w\":[],\"n\":1e2}}\n");
  lines("nested", 7, R"({"z":[[[{"a":{"b":[]}}]]],"p":[70.0,-0],"t":"\ud83d\udc1f\n"})");
  lines("doubled", 4, R"({"t":"x","z":{"a":1,"a":2}})");
}

}  // namespace shoal::fuzz
