// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Programs of others, against which files are compared.
#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

namespace shoal::data {

/// What `command` writes to its standard output. Empty where the shell does not find it.
inline std::string output_of(const std::string& command) {
  std::string output;
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return output;
  for (int byte; (byte = fgetc(pipe)) != EOF;) output.push_back(char(byte));
  pclose(pipe);
  return output;
}

/// Debian's Python, which has the packages of Debian, with a script of this folder.
inline std::string python(const std::string& script) {
  return std::string("/usr/bin/python3 -B ") + SHOAL_DATA_TESTS "/" + script + " ";
}

/// Whether Debian's Python has the modules, as "numpy, PIL".
inline bool python_has(const std::string& modules) {
  return output_of("/usr/bin/python3 -c 'import " + modules + "; print(1)' 2>&1") == "1\n";
}

inline bool is_installed(const std::string& program) { return !output_of("command -v " + program).empty(); }

inline std::string contents_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_file(const std::string& path, const std::string& contents) {
  std::ofstream(path, std::ios::binary) << contents;
}

}  // namespace shoal::data
