// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs the program within the test's process, and reads its output.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "../base/temporary_folder.h"
#include "shoal/cli/cli.h"

namespace shoal::cli::testing {

using Json = nlohmann::json;

struct Output {
  int status = -1;
  std::string out;
  std::string err;

  /// The one object that the program printed.
  Json json() const { return Json::parse(out); }
  /// The objects that the program printed, one per line.
  std::vector<Json> lines() const {
    std::vector<Json> lines;
    std::istringstream text(out);
    for (std::string line; std::getline(text, line);) lines.push_back(Json::parse(line));
    return lines;
  }
};

/// Runs the program with the words `argv`, of which the first is its own name, and with `input` on standard input.
inline Output run_program(const std::vector<const char*>& argv, std::string_view input = {}, const Self& self = {}) {
  Output run;
  TextOutput out(run.out), err(run.err);
  const auto read = [&](std::span<std::byte> to) -> Result<size_t> {
    const size_t count = std::min(to.size(), input.size());
    std::memcpy(to.data(), input.data(), count);
    input.remove_prefix(count);
    return count;
  };
  run.status = cli_main(int(argv.size()), argv.data(), read, out, err, {}, self);
  return run;
}

/// Runs `shoal` with `input` on standard input.
inline Output shoal_program(std::vector<std::string> arguments, const std::string& input = "") {
  arguments.insert(arguments.begin(), "shoal");
  std::vector<const char*> argv;
  for (const std::string& argument : arguments) argv.push_back(argument.c_str());
  return run_program(argv, input);
}

class InFolder : public ::testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) { own_.write(name, text); }
  std::string read(const std::string& name) {
    std::ostringstream text;
    text << std::ifstream(folder + "/" + name, std::ios::binary).rdbuf();
    return text.str();
  }
  /// Names, sizes and times of everything in the folder, to see that a command changed nothing.
  std::string everything() const {
    std::string text;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      text += entry.path().string() + " " + std::to_string(entry.is_regular_file() ? entry.file_size() : 0) + " " +
              std::to_string(entry.last_write_time().time_since_epoch().count()) + "\n";
    }
    return text;
  }

 private:
  TemporaryFolder own_;

 protected:
  const std::string& folder = own_.path();
};

}  // namespace shoal::cli::testing
