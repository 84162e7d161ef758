// SPDX-License-Identifier: Apache-2.0
#include "run_program.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace mnist {
namespace {

Ended run(const std::string& program, const std::string& arguments) {
  const std::string command = "env -u SHOAL_DATA -u TF_CONFIG " + program + " " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot run " + command);
  Ended ended;
  char buffer[4096];
  for (size_t got = 0; (got = fread(buffer, 1, sizeof buffer, pipe)) > 0;) ended.output.append(buffer, got);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) ended.status = WEXITSTATUS(status);
  return ended;
}

}  // namespace

Ended run_mnist(const std::string& arguments) { return run(SHOAL_TEST_MNIST, arguments); }
Ended run_text(const std::string& arguments) { return run(SHOAL_TEST_TEXT, arguments); }
Ended run_cifar(const std::string& arguments) { return run(SHOAL_TEST_CIFAR, arguments); }
Ended run_adult(const std::string& arguments) { return run(SHOAL_TEST_ADULT, arguments); }
Ended run_housing(const std::string& arguments) { return run(SHOAL_TEST_HOUSING, arguments); }

std::string idx(const std::vector<uint32_t>& sizes, const std::string& bytes) {
  std::string file{'\0', '\0', '\x08', char(sizes.size())};
  for (uint32_t size : sizes) {
    for (int shift = 24; shift >= 0; shift -= 8) file += char(size >> shift);
  }
  return file + bytes;
}

void write(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

void write_small_data(const std::string& folder, uint32_t count) {
  std::string pixels, labels;
  uint32_t noise = 1;
  for (uint32_t i = 0; i < count; ++i) {
    labels += char(i % 10);
    for (int k = 0; k < 28 * 28; ++k) {
      noise = noise * 1664525 + 1013904223;
      pixels += char(noise >> 24);
    }
  }
  for (const std::string& part : {std::string("train"), std::string("t10k")}) {
    write(folder + "/" + part + "-images-idx3-ubyte", idx({count, 28, 28}, pixels));
    write(folder + "/" + part + "-labels-idx1-ubyte", idx({count}, labels));
  }
}

}  // namespace mnist
