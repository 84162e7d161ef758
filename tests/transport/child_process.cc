// SPDX-License-Identifier: Apache-2.0
#include "child_process.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <filesystem>
#include <sstream>

extern char** environ;

namespace shoal::transport {

ChildProcess::ChildProcess(std::vector<std::string> words) {
  std::vector<std::string> command;
  std::istringstream emulator(SHOAL_TEST_EMULATOR);  // In a cross build the kernel cannot start this program itself.
  for (std::string word; emulator >> word;) command.push_back(word);
  command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
  command.insert(command.end(), words.begin(), words.end());
  std::vector<char*> arguments;
  for (std::string& word : command) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  EXPECT_EQ(::posix_spawnp(&id_, arguments[0], nullptr, nullptr, arguments.data(), environ), 0);
}

ChildProcess::~ChildProcess() {
  kill();
  ::waitpid(id_, nullptr, 0);
}

void ChildProcess::signal(int number) { EXPECT_EQ(::kill(id_, number), 0); }
void ChildProcess::kill() { ::kill(id_, SIGKILL); }

}  // namespace shoal::transport
